"""Nothing persists that the registry of stores does not know, and what it names is there."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args, get_type_hints

import pytest

from lethe.adapters.dynamodb import models
from lethe.adapters.inspection import judgement
from lethe.domain import keys
from lethe.domain.registry import FILES, RESOURCES, ROWS, SORT_KEYS, Persisted, SubjectData
from lethe.domain.residuals import Retention, residuals
from lethe_local import state
from tests.template.stack import TEMPLATE

PERSISTING = re.compile(
    r"AWS::(DynamoDB::(Table|GlobalTable)|Serverless::(SimpleTable|StateMachine)|StepFunctions::StateMachine"
    r"|SQS::Queue|SNS::Topic|Kinesis::Stream|KinesisFirehose::DeliveryStream|Events::(EventBus|Archive)|S3::Bucket"
    r"|EFS::FileSystem|Logs::LogGroup|KMS::Key|SecretsManager::Secret|SSM::Parameter|RDS::.*|ElastiCache::.*"
    r"|OpenSearchService::Domain|OpenSearchServerless::Collection|Backup::.*)"
)
"""Types of resources that keep what they are given. What is not among them keeps nothing that Lethe writes."""

ENTRIES = [*ROWS.items(), *RESOURCES.items(), *FILES.items()]


def row_classes() -> set[str]:
    classes = inspect.getmembers(models, inspect.isclass)
    return {name for name, value in classes if issubclass(value, models.Row) and value is not models.Row}


def resources(text: str) -> set[str]:
    """Logical ids of the resources that persist, read from the template's own lines, whatever its conditions."""
    found = re.findall(r"^  (\w+):\n(?:    .*\n|  +#.*\n)*?    Type: (AWS::[\w:]+)$", text, re.MULTILINE)
    assert len(found) > 40, "the template is read as it is written"
    return {name for name, kind in found if PERSISTING.fullmatch(kind)}


def beginnings(source: str) -> set[str]:
    """What keys begin with: words in capitals at the front of every key that ``domain.keys`` builds."""
    words = set()
    for node in ast.walk(ast.parse(source)):
        first = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "join" and node.args:
            first = node.args[0]
        elif isinstance(node, ast.Assign):
            first = node.value
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            words |= set(re.findall(r"^([A-Z]+)(?:#|$)", first.value))
    return words


def test_every_item_type_is_known() -> None:
    assert row_classes() == set(ROWS)
    bound = {get_args(hint)[0].__name__ for hint in get_type_hints(models.Models).values()}
    assert bound == set(ROWS)


def test_every_key_is_known() -> None:
    assert beginnings(Path(keys.__file__).read_text("utf-8")) == set(SORT_KEYS)
    assert set(itertools.chain(*SORT_KEYS.values())) == set(ROWS)


def test_every_resource_that_persists_is_known() -> None:
    assert resources(TEMPLATE.read_text("utf-8")) == set(RESOURCES)


def test_every_file_of_the_laptop_is_known() -> None:
    assert set(FILES) == {*state._STATE_FILES, "opensearch"}


@pytest.mark.parametrize(
    "added",
    [
        "  Notes:\n    Type: AWS::DynamoDB::Table\n",
        "  Mails:\n    # keeps mails\n    Type: AWS::SQS::Queue\n    Condition: HasIndex\n",
        "  Dump:\n    Condition: HasIndex\n    Type: AWS::S3::Bucket\n",
    ],
)
def test_a_new_resource_is_seen(added: str) -> None:
    text = TEMPLATE.read_text("utf-8").replace("Resources:\n", "Resources:\n" + added, 1)
    assert len(resources(text) - set(RESOURCES)) == 1


def test_a_new_key_is_seen() -> None:
    source = Path(keys.__file__).read_text("utf-8")
    assert beginnings(source + '\n\ndef note(n: str) -> str:\n    return join("NOTE", n)\n') - set(SORT_KEYS) == {
        "NOTE"
    }


@pytest.mark.parametrize(("name", "thing"), ENTRIES, ids=[name for name, _ in ENTRIES])
def test_what_an_entry_names_is_there(name: str, thing: Persisted) -> None:
    for path in (thing.eraser, thing.verifier):
        if path is not None:
            assert callable(named(path)), path
    assert set(thing.residuals) <= surfaces()
    assert thing.what
    if thing.holds is SubjectData.CONTENT:
        assert thing.eraser is not None
        assert thing.verifier is not None
        assert thing.residuals
    else:
        assert thing.expires is not None, "who knows when it goes, if ever"


def named(path: str) -> object:
    """The function of a full name; AttributeError or ImportError when there is none."""
    module, owner, function = path.rsplit(".", 2)
    return getattr(getattr(import_module(module), owner), function)


def test_a_function_that_is_not_there_is_seen() -> None:
    with pytest.raises(AttributeError):
        named("lethe.adapters.dynamodb.purge.DynamoPurge.nothing")


def surfaces() -> set[str]:
    """Every surface that a receipt of any stack can name."""
    found = set()
    tables: Literal["dynamodb", "dynoxide", "moto"]
    engine: Literal["scan", "managed", "serverless", "local"]
    for tables in ("dynamodb", "dynoxide", "moto"):
        for engine in ("scan", "managed", "serverless", "local"):
            retention = Retention(tables, engine, 14, 30, 300, 7)
            found |= {each.surface for each in residuals(retention, datetime(2026, 1, 1, tzinfo=UTC), held=True)}
    return found


def test_every_surface_of_a_receipt_has_something_on_it() -> None:
    told = set(itertools.chain(*(thing.residuals for _, thing in ENTRIES)))
    assert surfaces() - told == {"held_records", "container_memory", "process_memory", "traces"}


def test_the_verifier_knows_the_form_of_every_key_of_content() -> None:
    of_content = {
        word for word, rows in SORT_KEYS.items() if any(ROWS[row].holds is SubjectData.CONTENT for row in rows)
    }
    assert {word for forms in judgement._ORDINARY.values() for word, _ in forms} == of_content
