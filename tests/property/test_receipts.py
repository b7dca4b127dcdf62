"""1,000 receipts and chains, each changed somewhere: all are found, by the service's check and by the client's own."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from lethe.domain.chain import hash_of
from lethe.domain.json_values import JsonObject, JsonValue, canonical
from lethe.domain.receipt_check import check_chain, check_receipt
from lethe_client.receipts import check_chain as client_check_chain
from lethe_client.receipts import check_receipt as client_check_receipt
from lethe_client.receipts import read_documents, read_public_key
from tests.fakes.receipts import FakeSigner
from tests.support.receipts import chain_of, document_of, done_erasure, receipt_in, verifier

SIGNER = FakeSigner()
KEY = read_public_key(SIGNER.public_key())
VERIFY = verifier(SIGNER.public_key())
FINGERPRINT = hashlib.sha256(SIGNER.public_key()).hexdigest()

Changeable = dict[str, "JsonValue"]
Damage = Callable[[random.Random, Changeable], None]


def faults_of(document: JsonValue) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Name and place of every fault, as the service and as the client see it."""
    ours = check_receipt(document, VERIFY, FINGERPRINT)
    theirs = client_check_receipt(cast("dict[str, object]", document), KEY)  # type: ignore[arg-type]  # any JSON
    return {(str(fault.name), fault.where) for fault in ours}, {(fault.name, fault.where) for fault in theirs}


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value inside, containers too."""
    entries: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    for name, inner in entries:
        yield (*path, name)
        yield from places(inner, (*path, name))


def inside(document: Changeable, path: tuple[str | int, ...]) -> dict[str | int, JsonValue]:
    """The container that holds what ``path`` leads to."""
    found: object = document
    for name in path[:-1]:
        found = cast("dict[str | int, object]", found)[name]
    return cast("dict[str | int, JsonValue]", found)


def other(chance: random.Random, value: JsonValue) -> JsonValue:
    """Something else than ``value``, of the same type more often than not."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return chance.choice([value + 1, value - 1, value + 10**17, float(value), str(value), True, None])
    if isinstance(value, str) and value:
        at = chance.randrange(len(value))
        swapped = value[:at] + chance.choice([c for c in "abcdef019Z_-é\x00" if c != value[at]]) + value[at + 1 :]
        return chance.choice([swapped, value[:at], value + "0", value[:at] + value[at:] + " ", None, 7])
    instead: list[JsonValue] = [7, "x", [], {"a": 1}, [None]]
    return chance.choice(instead) if value is None else None


def change_a_value(chance: random.Random, document: Changeable) -> None:
    path = chance.choice(list(places(document)))
    container = inside(document, path)
    container[path[-1]] = other(chance, container[path[-1]])


def leave_one_out(chance: random.Random, document: Changeable) -> None:
    path = chance.choice(list(places(document)))
    del inside(document, path)[path[-1]]


def add_one(chance: random.Random, document: Changeable) -> None:
    path = chance.choice([path for path in places(document) if isinstance(path[-1], str)])
    name = chance.choice(["extra", "N", "", "found ", "until\x00"])
    inside(document, path)[name] = chance.choice([1, "x", None, {}])


def reorder_a_list(chance: random.Random, document: Changeable) -> None:
    lists = [path for path in places(document) if isinstance(inside(document, path)[path[-1]], list)]
    long = [path for path in lists if len(cast("list[object]", inside(document, path)[path[-1]])) > 1]
    path = chance.choice(long)
    container = inside(document, path)
    container[path[-1]] = list(reversed(cast("list[JsonValue]", container[path[-1]])))


def reorder_the_statement(chance: random.Random, document: Changeable) -> None:
    members = list(json.loads(str(document["statement"])).items())
    while dict(members) and [name for name, _ in members] == sorted(name for name, _ in members):
        chance.shuffle(members)
    document["statement"] = json.dumps(dict(members), separators=(",", ":"))


def flip_a_bit_of_the_signature(chance: random.Random, document: Changeable) -> None:
    signature = cast("Changeable", document["signature"])
    value = bytearray(base64.b64decode(str(signature["value"])))
    value[chance.randrange(len(value))] ^= 1 << chance.randrange(8)
    signature["value"] = base64.b64encode(value).decode()


def truncate_the_signature(chance: random.Random, document: Changeable) -> None:
    signature = cast("Changeable", document["signature"])
    value = base64.b64decode(str(signature["value"]))
    signature["value"] = base64.b64encode(value[: chance.randrange(len(value))]).decode()


def sign_with_another_key(chance: random.Random, document: Changeable) -> None:
    """All of it made anew by somebody else, who says to be the same key."""
    value = FakeSigner(chance.randrange(8, 10**6)).sign(str(document["statement"]).encode())
    cast("Changeable", document["signature"])["value"] = base64.b64encode(value).decode()


def forge(chance: random.Random, document: Changeable) -> None:
    """A receipt with another content, its hash and statement put right, signed by another key in its own name."""
    forger = FakeSigner(chance.randrange(8, 10**6))
    fresh = document_of(done_erasure(chance), forger)
    document.update(copy.deepcopy(cast("Changeable", dict(fresh))))


def borrow(chance: random.Random, document: Changeable) -> None:
    """A part of another valid receipt of the same key."""
    part = chance.choice(["receipt", "statement", "signature"])
    document[part] = copy.deepcopy(document_of(done_erasure(chance), SIGNER)[part])


DAMAGES: tuple[Damage, ...] = (
    change_a_value,
    leave_one_out,
    add_one,
    reorder_a_list,
    reorder_the_statement,
    flip_a_bit_of_the_signature,
    truncate_the_signature,
    sign_with_another_key,
    forge,
    borrow,
)


def test_700_changed_receipts_are_all_found() -> None:
    found: Counter[str] = Counter()
    for number in range(700):
        chance = random.Random(number)
        document = copy.deepcopy(dict(document_of(done_erasure(chance), SIGNER)))
        before = canonical(document)
        damage = DAMAGES[number % len(DAMAGES)]
        damage(chance, document)
        assert json.dumps(document, sort_keys=True) != json.dumps(json.loads(before), sort_keys=True), number
        ours, theirs = faults_of(document)
        assert ours, f"{number}: {damage.__name__} was not found"
        assert ours == theirs, f"{number}: {damage.__name__}"
        found.update(name for name, _ in ours)
    assert found.keys() >= {
        "missing_field", "extra_field", "wrong_type", "wrong_value", "not_canonical",
        "wrong_hash", "wrong_statement", "wrong_signature", "other_key", "contradiction",
    }  # fmt: skip


def test_100_files_cut_short_are_no_receipts() -> None:
    for number in range(100):
        chance = random.Random(number)
        text = json.dumps(document_of(done_erasure(chance), SIGNER), indent=chance.choice([None, 2]))
        cut = text[: chance.randrange(len(text))]
        try:
            documents = read_documents(cut)
        except ValueError:
            continue
        raise AssertionError(f"{number}: {len(documents)} documents in a file cut at {len(cut)} of {len(text)}")


def damaged_chain(chance: random.Random) -> tuple[str, list[JsonObject], str]:
    """A valid chain with one thing wrong, what, and the hash of its true end."""
    chain = chain_of(chance, chance.randint(4, 7), SIGNER)
    end = hash_of(receipt_in(chain[-1]))
    at = chance.randrange(len(chain))
    what = chance.choice(["drop", "swap", "repeat", "first", "end", "foreign", "replace"])
    match what:
        case "drop":
            del chain[chance.randrange(len(chain) - 1)]
        case "swap":
            before = chance.randrange(len(chain) - 1)
            chain[before], chain[before + 1] = chain[before + 1], chain[before]
        case "repeat":
            chain.insert(at, chain[at])
        case "first":
            del chain[0]
        case "end":
            del chain[-1]
        case "foreign":
            chain[at] = chain_of(chance, len(chain), SIGNER, "other")[at]
        case "replace":
            chain[at] = chain_of(chance, len(chain), SIGNER)[at]
    return what, chain, end


def test_200_broken_chains_are_all_found() -> None:
    kinds: Counter[str] = Counter()
    names: Counter[str] = Counter()
    for number in range(200):
        what, chain, end = damaged_chain(random.Random(number))
        for document in chain:
            assert check_receipt(document, VERIFY, FINGERPRINT) == (), "each one alone is valid"
        ours = {(str(fault.name), fault.where) for fault in check_chain(chain, end)}
        theirs = {
            (fault.name, fault.where)
            for fault in client_check_chain(cast("list[dict[str, object]]", chain), end)  # type: ignore[arg-type]  # JSON
        }
        assert ours, f"{number}: {what} was not found"
        assert ours == theirs, f"{number}: {what}"
        kinds[what] += 1
        names.update(name for name, _ in ours)
    assert len(kinds) == 7
    assert names.keys() == {"repeated", "other_tenant", "out_of_order", "broken_chain", "wrong_end"}


def shuffled(chance: random.Random, value: JsonValue) -> JsonValue:
    """The same with the members of every object in another order."""
    if isinstance(value, dict):
        members = list(value.items())
        chance.shuffle(members)
        return {name: shuffled(chance, inner) for name, inner in members}
    return [shuffled(chance, inner) for inner in value] if isinstance(value, list) else value


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6), st.sampled_from([None, 1, 4]), st.booleans())
def test_what_was_signed_is_valid_however_it_is_written(
    seed: int, length: int, indent: int | None, ascii_only: bool
) -> None:
    """Order of members and white space are no part of a JSON document."""
    chance = random.Random(seed)
    chain = chain_of(chance, length, SIGNER)
    text = json.dumps([shuffled(chance, document) for document in chain], indent=indent, ensure_ascii=ascii_only)
    documents = read_documents(text)
    assert documents == chain
    for document in documents:
        assert faults_of(cast("JsonValue", document)) == (set(), set())
    end = hash_of(receipt_in(chain[-1]))
    assert check_chain(cast("list[JsonObject]", documents), end) == ()
    assert client_check_chain(documents, end) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 9), st.integers(0, 10**6), JSON)
def test_whatever_stands_in_a_place_it_is_an_answer_and_no_crash(seed: int, place: int, value: JsonValue) -> None:
    document = copy.deepcopy(dict(document_of(done_erasure(random.Random(seed)), SIGNER)))
    ways = list(places(document))
    path = ways[place % len(ways)]
    before = inside(document, path)[path[-1]]
    inside(document, path)[path[-1]] = value
    ours, theirs = faults_of(document)
    assert ours == theirs
    same = type(before) is type(value) and before == value
    assert bool(ours) != same


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_any_other_document_is_none(value: JsonValue) -> None:
    ours, theirs = faults_of(value)
    assert ours == theirs
    assert ours
