"""1,000 audit chains, each damaged in one way by a seeded hand: every damage is found, and named near where it is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest

from lethe.domain.audit import (
    AuditEvent,
    StrandChecked,
    StrandFault,
    Verdict,
    Wrong,
    check_strand,
    document,
    ends_json,
    ends_of,
    entry_of,
    linked,
)
from lethe.domain.chain import EMPTY, NOTHING, ChainEnd, hash_of
from lethe.domain.json_values import JsonObject, JsonValue
from tests.fakes.time_and_ids import START

CHAINS = 1_000
TENANT, STRAND = "acme", 3
Chain = list[dict[str, JsonValue]]


def chain_of(length: int, dice: random.Random) -> Chain:
    end, chain = EMPTY, Chain()
    for number in range(length):
        entry = linked(event(number, dice), STRAND, end)
        end = entry.end
        chain.append(dict(document(entry)))
    return chain


def event(number: int, dice: random.Random) -> AuditEvent:
    return AuditEvent(
        tenant=TENANT,
        at=START + timedelta(microseconds=number),
        key=f"{dice.getrandbits(128):032x}",
        action=dice.choice(("recall", "add_memories", "delete_memory", "list_audit")),
        verdict=dice.choice(tuple(Verdict)),
        subject=dice.choice((None, f"{dice.getrandbits(128):032x}")),
        targets=tuple(f"mem_{dice.getrandbits(80):026d}" for _ in range(dice.randrange(3))),
        request_id=f"request-{number}",
    )


def end_of(chain: Chain) -> ChainEnd:
    return ChainEnd(len(chain), str(chain[-1]["hash"])) if chain else EMPTY


def rehashed(entry: dict[str, JsonValue]) -> None:
    entry["hash"] = hash_of({name: value for name, value in entry.items() if name != "hash"})


def changed(value: JsonValue, dice: random.Random) -> JsonValue:
    """Another value of the same type, as somebody would put there who wants it to look right."""
    if isinstance(value, str):
        place = dice.randrange(len(value))
        return value[:place] + ("0" if value[place] != "0" else "1") + value[place + 1 :]
    if isinstance(value, int):
        return value + 1
    return [*value, "mem_" + "0" * 26] if isinstance(value, list) else "f" * 32


def alter(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    place = dice.randrange(len(chain))
    name = dice.choice(sorted(chain[place]))
    chain[place][name] = changed(chain[place][name], dice)
    return chain, range(place + 1, place + 2)


def alter_and_hash_again(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    """The entry fits itself again; the next one, or the noted end, does not fit it."""
    place = dice.randrange(len(chain))
    name = dice.choice(sorted(chain[place].keys() - {"hash"}))
    chain[place][name] = changed(chain[place][name], dice)
    rehashed(chain[place])
    return chain, range(place + 1, place + 3)


def add_a_field(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    place = dice.randrange(len(chain))
    chain[place]["note"] = dice.choice((None, True, float("nan"), "\ud800", "x"))
    return chain, range(place + 1, place + 2)


def drop_a_field(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    place = dice.randrange(len(chain))
    del chain[place][dice.choice(sorted(chain[place]))]
    return chain, range(place + 1, place + 2)


def cut_out(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    first = dice.randrange(len(chain))
    last = min(len(chain), first + dice.randrange(1, 4))
    return chain[:first] + chain[last:], range(first + 1, first + 2)


def cut_off(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    """At the end, which the noted end alone can show."""
    kept = dice.randrange(len(chain))
    return chain[:kept], range(kept + 1, kept + 2)


def swap(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    first, second = sorted(dice.sample(range(len(chain)), 2))
    chain[first], chain[second] = chain[second], chain[first]
    return chain, range(first + 1, first + 2)


def repeat(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    place = dice.randrange(len(chain))
    behind = dice.randrange(place, len(chain))
    return [*chain[: behind + 1], dict(chain[place]), *chain[behind + 1 :]], range(behind + 2, behind + 3)


def relinked(chain: Chain, first: int) -> Chain:
    """The chain with all entries from ``first`` on numbered, linked and hashed anew: one without a seam."""
    for n in range(first, len(chain)):
        chain[n]["n"], chain[n]["previous"] = n + 1, chain[n - 1]["hash"] if n else NOTHING
        rehashed(chain[n])
    return chain


def take_out_and_relink(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    place = dice.randrange(len(chain))
    return relinked(chain[:place] + chain[place + 1 :], place), range(len(chain), len(chain) + 1)


def alter_and_relink(chain: Chain, dice: random.Random) -> tuple[Chain, range]:
    place = dice.randrange(len(chain))
    chain[place]["action"] = "nothing"
    return relinked(chain, place), range(len(chain), len(chain) + 1)


DAMAGES: tuple[Callable[[Chain, random.Random], tuple[Chain, range]], ...] = (
    alter,
    alter_and_hash_again,
    add_a_field,
    drop_a_field,
    cut_out,
    cut_off,
    swap,
    repeat,
    take_out_and_relink,
    alter_and_relink,
)


@pytest.mark.parametrize("seed", range(10))
def test_every_damage_is_found(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    dice = random.Random(seed)
    found: Counter[str] = Counter()
    for number in range(CHAINS // 10):
        chain = chain_of(dice.randrange(2, 30), dice)
        end = end_of(chain)
        assert check_strand(chain, TENANT, STRAND, [end]) == StrandChecked(end, None)
        damage = DAMAGES[number % len(DAMAGES)]
        damaged, places = damage([dict(entry) for entry in chain], dice)
        checked = check_strand(damaged, TENANT, STRAND, [end])
        assert checked.fault is not None, damage.__name__
        assert checked.fault.n in places, (damage.__name__, checked.fault)
        assert checked.end.length == checked.fault.n - 1
        found[checked.fault.wrong.value] += 1
    assert found.total() == CHAINS // 10
    assert found.keys() == {wrong.value for wrong in Wrong}
    with capsys.disabled():
        print(f"\n{found.total()} damaged chains, all found: {dict(found)}")


def test_a_whole_chain_is_sound_at_every_length() -> None:
    chain = chain_of(40, random.Random(1))
    ends = [end_of(chain[:length]) for length in range(41)]
    for length in range(41):
        assert check_strand(chain[:length], TENANT, STRAND, ends[: length + 1]) == StrandChecked(ends[length], None)


def test_without_a_noted_end_a_chain_that_was_cut_off_looks_whole() -> None:
    """The limit that the documentation states."""
    chain = chain_of(10, random.Random(2))
    assert check_strand(chain[:6], TENANT, STRAND).fault is None
    assert check_strand(chain[:6], TENANT, STRAND, [end_of(chain)]).fault == StrandFault(7, Wrong.TRUNCATED)
    assert check_strand(chain[:6], TENANT, STRAND, [end_of(chain[:6])]).fault is None


def test_a_chain_of_another_tenant_or_strand_does_not_pass_for_this_one() -> None:
    chain, other = chain_of(5, random.Random(3)), chain_of(5, random.Random(4))
    assert check_strand(other, TENANT, STRAND, [end_of(chain)]).fault == StrandFault(5, Wrong.REPLACED)
    assert check_strand(chain, TENANT, STRAND, [ChainEnd(0, "1" * 64)]).fault == StrandFault(1, Wrong.REPLACED)
    assert check_strand(chain, "other", STRAND, [end_of(chain)]).fault == StrandFault(1, Wrong.MISPLACED)
    assert check_strand(chain, TENANT, STRAND + 1, [end_of(chain)]).fault == StrandFault(1, Wrong.MISPLACED)


def test_an_entry_is_read_as_it_was_written() -> None:
    dice = random.Random(5)
    for number in range(50):
        entry = linked(event(number, dice), STRAND, ChainEnd(number, "a" * 64))
        assert entry_of(document(entry)) == entry


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {**chain_of(1, random.Random(6))[0], "n": "1"},
        {**chain_of(1, random.Random(6))[0], "targets": "mem_"},
        {**chain_of(1, random.Random(6))[0], "verdict": "perhaps"},
        {**chain_of(1, random.Random(6))[0], "at": "yesterday"},
        {**chain_of(1, random.Random(6))[0], "key": None},
    ],
)
def test_what_is_no_entry_is_refused(stored: JsonObject) -> None:
    with pytest.raises(ValueError, match="not an entry"):
        entry_of(stored)


def test_ends_are_read_as_they_were_written() -> None:
    ends = {11: ChainEnd(3, "b" * 64), 0: ChainEnd(1, "a" * 64)}
    assert [each["strand"] for each in ends_json(ends)] == [0, 11]
    assert ends_of(ends_json(ends)) == ends
    assert ends_of([]) == {}


@pytest.mark.parametrize(
    "noted",
    [
        None,
        {},
        [1],
        [{"strand": 0, "length": 1}],
        [{"strand": True, "length": 1, "hash": "a"}],
        [{"strand": 0, "length": -1, "hash": "a"}],
        [{"strand": 0, "length": 1, "hash": "a"}] * 2,
    ],
)
def test_what_names_no_ends_is_refused(noted: JsonValue) -> None:
    with pytest.raises(ValueError, match="ends of an audit trail"):
        ends_of(noted)
