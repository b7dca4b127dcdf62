"""`python -m lethe_local.demo`: a fresh stack on a free port, the story, and an honest exit status.

OPENSEARCH=1 searches on an OpenSearch node of its own, OPENSEARCH=http://… on one that runs. LETHE_LOCAL_TABLES=moto
does without dynoxide.
"""

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

from lethe.entry.wiring.access import access_service
from lethe_client import LetheError
from lethe_local.backends import Choice, tables_wanted
from lethe_local.demo.content import load_conversation
from lethe_local.demo.screen import Screen
from lethe_local.demo.silence import check_log
from lethe_local.demo.stores import Stores
from lethe_local.demo.story import Behind, Story
from lethe_local.opensearch_node import NodeWanted, build_node, node_wanted
from lethe_local.stack import LocalStack, StackOptions

LOG = Path(".lethe") / "demo.log"


def main() -> int:
    """Tell the story; 0 when every claim of it held, else 1."""
    root = project_root(Path.cwd())
    if root is None:
        print("template.yaml is neither here nor above: run the demo inside the project", file=sys.stderr)
        return 1
    try:
        opensearch, tables = node_wanted(os.environ), tables_wanted(os.environ)
        if opensearch is not None and opensearch.url is None:
            build_node(print)  # now, while there is nothing else to look at
    except (ValueError, RuntimeError) as error:
        print(f"make demo: {error}", file=sys.stderr)
        return 1
    screen = Screen()
    screen.title("Lethe: an agent remembers", "Two people talk to an agent for months. Then somebody asks.")
    started = time.perf_counter()
    log = root / LOG
    log.parent.mkdir(exist_ok=True)
    with log.open("w", encoding="utf-8") as lines, contextlib.redirect_stdout(lines):
        _tell(root, tables, opensearch, screen)
    check_log(log.read_text(encoding="utf-8"), (load_conversation("en"), load_conversation("zh")), screen)
    screen.say(f"{time.perf_counter() - started:.1f} s in all. The functions' log is {LOG}.")
    return _verdict(screen)


def _tell(root: Path, tables: Choice, opensearch: NodeWanted | None, screen: Screen) -> None:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="lethe-demo-") as folder:
        options = StackOptions(
            root=root,
            state_dir=Path(folder),
            port=0,
            fresh=True,
            say=screen.say,
            tables=tables,
            opensearch=opensearch,
        )
        with LocalStack.start(options) as stack:
            stack.warm_up()
            screen.say(stack.description, "dim")
            screen.say(f"up in {time.perf_counter() - started:.1f} s at {stack.url}", "dim")
            try:
                indexed = stack.wait_until_indexed if stack.search is not None else None
                behind = Behind(access_service(stack.environment), Stores(stack.environment, stack.folder), indexed)
                Story(stack.url, behind, screen).tell()
            except LetheError as error:
                screen.check(f"the service answers as its contract says, but: {error}", False)


def project_root(folder: Path) -> Path | None:
    """The nearest folder, from `folder` upwards, that holds the template; None when there is none."""
    return next((above for above in (folder, *folder.parents) if (above / "template.yaml").is_file()), None)


def _verdict(screen: Screen) -> int:
    if screen.failures:
        screen.say(f"{len(screen.failures)} of {len(screen.checks)} checks failed:", "bold red")
        for check in screen.failures:
            screen.say(f"✗ {check.claim}", "red")
        return 1
    screen.say("Next: `make dev` serves all this on http://127.0.0.1:8700, with a key and curl lines to try.", "bold")
    return 0


if __name__ == "__main__":
    try:
        status = main()
    except KeyboardInterrupt:
        status = 130  # 128 + SIGINT, as shells report it
    sys.exit(status)
