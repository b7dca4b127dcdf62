"""Pages that repeat the template say what it says: the rights in docs/security.md, the parameters in docs/deploy.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

from tests.template.stack import EMBEDDER_SECRET, FUNCTIONS, ROOT, mapping, stack
from tests.template.test_roles import MACHINE, ON_EVERYTHING, TITAN, rights

TABLES = ("Subjects", "Sessions", "Entities", "Memories", "Ledger", "Access")
RESOURCES = {
    **{name: f"{name}Table.Arn" for name in TABLES},
    "the stream of Memories": "MemoriesTable.StreamArn",
    "queue of dead letters": "IndexDeadLetters.Arn",
    "state machine of erasures": MACHINE,
    "the key of receipts": "ReceiptKey.Arn",
    "master secret": "MasterSecret",
    "the endpoint's key, if there is one": EMBEDDER_SECRET,
    "the configured Bedrock model, if it is one": TITAN,
}
DOMAIN, COLLECTION, LOG = "search domain, below `lethe-memories-*/`", "search collection", "own log group"
ROLES = (*FUNCTIONS, "IndexFunction")


def tables_of(page: str) -> list[list[list[str]]]:
    """The tables of a page of docs: rows of cells, the header first, the line below it left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            if not inside:
                found.append([])
            if not re.fullmatch(r"[|\s-]+", line):
                found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        inside = line.startswith("|")
    return found


@cache
def rights_told() -> Mapping[str, Mapping[str, str]]:
    """The table of docs/security.md: by function, the cell of each row."""
    header, *rows = tables_of("security.md")[0]
    names = [f"{cell.partition(',')[0].capitalize()}Function" for cell in header[1:]]
    assert sorted(names) == sorted(ROLES)
    assert all(len(row) == len(header) for row in rows)
    return {name: {row[0]: row[place] for row in rows} for place, name in enumerate(names, 1)}


def words(cell: str) -> set[str]:
    return set(cell.split(", ")) - {""}


def given(function: str) -> dict[str, set[str]]:
    """What a function may do, by the rows of the table, in a stack with a domain and a key of the endpoint's."""
    row_of = {resource: row for row, resource in RESOURCES.items()}
    row_of[f"{function.removesuffix('Function')}LogGroup.Arn"] = LOG
    found: dict[str, set[str]] = {}
    for action, resource in rights(stack(SearchEngine="managed", EmbedderKeySecretArn=EMBEDDER_SECRET), function):
        if action == "es:ESHttpPost":
            found.setdefault(DOMAIN, set()).add(resource.rpartition("/")[2])
        elif action not in ON_EVERYTHING:
            found.setdefault(row_of[resource], set()).add(action.partition(":")[2])
    return found


def permitted(function: str) -> set[str]:
    """What a search collection permits a function's role."""
    (policy,) = stack(SearchEngine="serverless").resources("AWS::OpenSearchServerless::AccessPolicy").values()
    role = f"{function.removesuffix('Function')}Role.Arn"
    rules = [rule for each in json.loads(str(policy["Policy"])) if role in each["Principal"] for rule in each["Rules"]]
    return {str(right).removeprefix("aoss:") for rule in rules for right in rule["Permission"]}


@pytest.mark.parametrize("function", ROLES)
def test_the_page_on_security_tells_what_each_function_may_do(function: str) -> None:
    told = {row: words(cell) for row, cell in rights_told()[function].items() if row not in (DOMAIN, COLLECTION)}
    assert told.keys() == {*RESOURCES, LOG}
    paths = set(re.findall(r"`(_[a-z]+)`", rights_told()[function][DOMAIN]))
    shown = {row: actions for row, actions in told.items() if actions} | ({DOMAIN: paths} if paths else {})
    assert shown == given(function)
    assert words(rights_told()[function][COLLECTION]) == permitted(function)


def test_the_page_on_deployment_tells_every_parameter_with_its_default() -> None:
    parameters = mapping(stack().expanded["Parameters"])
    declared = {name: str(mapping(value)["Default"]) for name, value in parameters.items()}
    ((_, *rows),) = (table for table in tables_of("deploy.md") if table[0][:2] == ["Parameter", "Default"])
    told: dict[str, str] = {}
    for names, defaults, _ in rows:
        told |= pairs(names.split(", "), defaults.split(", "))
    assert told == declared


def pairs(names: Sequence[str], defaults: Sequence[str]) -> dict[str, str]:
    """Names of one row with their defaults; one default is that of all."""
    plain = ["" if default == "empty" else default.strip("`") for default in defaults]
    every = plain * len(names) if len(plain) == 1 else plain
    return dict(zip([name.strip("`") for name in names], every, strict=True))


def test_the_page_on_deployment_tells_what_outlives_the_stack() -> None:
    """Whatever the template retains is of a kind that the section names."""
    words_of = {
        "AWS::DynamoDB::Table": "The tables",
        "AWS::SecretsManager::Secret": "the secret",
        "AWS::KMS::Key": "The key of receipts",
    }
    resources = mapping(stack().expanded["Resources"])
    kept = {
        str(mapping(resource)["Type"])
        for resource in resources.values()
        if str(mapping(resource).get("DeletionPolicy", "Delete")).startswith("Retain")
    }
    assert kept == words_of.keys()
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    section = page.partition("## What stays when the stack goes")[2].partition("\n## ")[0]
    assert all(word in section for word in words_of.values())
