"""The house's rules that a type checker does not know: who may import whom, and who may touch what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LETHE = ROOT / "shared" / "lethe"
LAYERS = ("functions", "entry", "services", "ports", "adapters", "domain", "errors")

# What a layer may import of the others. Adapters and services meet at the ports and nowhere else.
ALLOWED = {
    "functions": {"entry"},
    "entry": {"entry", "services", "ports", "adapters", "domain", "errors"},
    "services": {"services", "ports", "domain", "errors"},
    "ports": {"ports", "domain", "errors"},
    "adapters": {"adapters", "ports", "domain", "errors"},
    "domain": {"domain"},
    "errors": set(),
}
# The one package that knows adapters, since it puts everything together.
COMPOSITION_ROOT = "lethe.entry.wiring"

# What would bring time, chance, the environment, files or the network into pure rules.
IMPURE = frozenset(
    """
    os time random secrets uuid socket subprocess pathlib shutil tempfile logging requests urllib3 http boto3 botocore
    pynamodb aws_lambda_powertools asyncio
    """.split()
)


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def name_of(path: Path) -> str:
    parts = list(path.relative_to(ROOT / "shared").with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST) -> Iterator[str]:
    """Full names of everything that is imported, wherever in the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def layer_of(module: str) -> str | None:
    """The layer that a full name belongs to; None for what is not ours, and for the package's own ``__version__``."""
    parts = module.split(".")
    return parts[1] if parts[0] == "lethe" and len(parts) > 1 and parts[1] in LAYERS else None


SHARED = modules(LETHE)
OURS = SHARED + modules(ROOT / "functions") + modules(ROOT / "local") + modules(ROOT / "client")
FUNCTIONS = sorted((ROOT / "functions").glob("*/app.py"))


def test_there_is_something_to_look_at() -> None:
    assert len(SHARED) > 50
    assert len(FUNCTIONS) >= 3
    assert {layer_of(name_of(path)) for path in SHARED} >= set(LAYERS) - {"functions"}


@pytest.mark.parametrize("path", SHARED, ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    name = name_of(path)
    layer = layer_of(name)
    if layer is None:
        return
    reached = {layer_of(target) for target in imported(parsed(path))} - {None}
    allowed = ALLOWED[layer]
    if layer == "entry" and not name.startswith(COMPOSITION_ROOT):
        allowed = allowed - {"adapters"}

    assert reached <= allowed


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda path: path.parent.name)
def test_functions_are_wiring_alone(path: Path) -> None:
    text = path.read_text("utf-8")

    assert len(text.splitlines()) <= 60
    assert {layer_of(target) for target in imported(ast.parse(text))} <= {"entry"}


@pytest.mark.parametrize("path", modules(LETHE / "domain"), ids=name_of)
def test_the_domain_is_pure(path: Path) -> None:
    tree = parsed(path)
    roots = {target.split(".")[0] for target in imported(tree)}
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}

    assert not roots & IMPURE
    assert not {call for call in calls if call in ("open", "print", "input")}
    assert not {call for call in calls if call.endswith((".now", ".utcnow", ".today"))}


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_spaces_makes_a_space(path: Path) -> None:
    """The handle that isolation rests on; ``domain.keys`` turns a stored key back into one, for streams."""
    calls = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.Call))
    made = [call for call in calls if ast.unparse(call.func).split(".")[-1] == "Space"]

    if made:
        assert path in (LETHE / "services" / "spaces.py", LETHE / "domain" / "keys.py")


@pytest.mark.parametrize("path", SHARED, ids=name_of)
def test_the_environment_is_read_in_one_place(path: Path) -> None:
    reads = [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv")
    ]

    if reads:
        assert path == LETHE / "entry" / "lambda_handler.py"


@pytest.mark.parametrize("path", SHARED, ids=name_of)
def test_the_layer_brings_no_boto3(path: Path) -> None:
    """boto3 costs a cold start some hundred milliseconds; botocore is enough."""
    assert not {target for target in imported(parsed(path)) if target.split(".")[0] == "boto3"}


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_fit_the_house(path: Path) -> None:
    text = path.read_text("utf-8")
    long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (node.end_lineno or 0) - node.lineno >= 50
    ]

    assert len(text.splitlines()) <= 400
    assert not long


def test_what_runs_in_lambda_knows_nothing_of_the_laptop() -> None:
    for path in SHARED + FUNCTIONS:
        roots = {target.split(".")[0] for target in imported(parsed(path))}
        assert not roots & {"lethe_local", "lethe_client", "moto", "tests", "shared"}, path


def test_the_client_knows_nothing_of_the_service() -> None:
    """Except for its command line, which works on the laptop's own stack."""
    sdk = [path for path in modules(ROOT / "client") if "cli" not in path.parts]

    for path in sdk:
        assert not {target for target in imported(parsed(path)) if target.split(".")[0] in ("lethe", "lethe_local")}


INSPECTION = modules(LETHE / "adapters" / "inspection")
# What it may use of ours: words that are no deed, and connections.
PLUMBING = (
    "lethe.adapters.aws_logging",
    "lethe.adapters.aws_session",
    "lethe.adapters.inspection",
    "lethe.domain.erasure",
    "lethe.domain.holds",
    "lethe.domain.immutable",
    "lethe.domain.json_values",
    "lethe.errors",
    "lethe.ports",
)


def within(target: str, packages: tuple[str, ...]) -> bool:
    return any(target == package or target.startswith(package + ".") for package in packages)


@pytest.mark.parametrize("path", INSPECTION, ids=name_of)
def test_the_verifier_shares_nothing_with_what_deletes(path: Path) -> None:
    ours = {target for target in imported(parsed(path)) if target.split(".")[0] == "lethe"}

    assert len(INSPECTION) >= 5
    assert {target for target in ours if not within(target, PLUMBING)} == set()


@pytest.mark.parametrize("path", [path for path in SHARED if path not in INSPECTION], ids=name_of)
def test_nothing_that_deletes_looks_through_the_verifiers_eyes(path: Path) -> None:
    used = {target for target in imported(parsed(path)) if within(target, ("lethe.adapters.inspection",))}

    assert not used or name_of(path) == "lethe.entry.wiring.erasing"
