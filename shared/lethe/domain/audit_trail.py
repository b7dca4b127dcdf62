"""A whole audit trail, all strands together: its export as lines of JSON, and its check.

An export's first line is ``{"tenant": …, "ends": [{"strand", "length", "hash"}, …]}``; the entries follow, one a line,
strand by strand, each up to its end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from lethe.domain.audit import Ends, StrandChecked, StrandFault, Wrong, check_strand, ends_json, ends_of
from lethe.domain.chain import EMPTY, ChainEnd
from lethe.domain.immutable import immutable
from lethe.domain.json_values import JsonObject, JsonValue, canonical


@immutable
class TrailChecked:
    """What a check found, by strand."""

    tenant: str
    strands: tuple[tuple[int, StrandChecked], ...]

    @property
    def length(self) -> int:
        """Entries that are sound, up to the first fault of each strand."""
        return sum(checked.end.length for _, checked in self.strands)

    @property
    def faults(self) -> tuple[tuple[int, StrandFault], ...]:
        """The first fault of each strand that has one."""
        return tuple((strand, checked.fault) for strand, checked in self.strands if checked.fault is not None)


def check_trail(tenant: str, strands: Mapping[int, Iterable[JsonObject]], known: Iterable[Ends]) -> TrailChecked:
    """Check every strand that there is, or that is known to have been there."""
    noted = [dict(ends) for ends in known]
    every = sorted({*strands, *(strand for ends in noted for strand in ends)})
    return TrailChecked(
        tenant,
        tuple(
            (
                strand,
                check_strand(
                    strands.get(strand, ()), tenant, strand, [ends[strand] for ends in noted if strand in ends]
                ),
            )
            for strand in every
        ),
    )


def export(tenant: str, ends: Ends, entries: Iterable[JsonObject]) -> Iterator[str]:
    """The lines of an export; ``entries`` are those of all strands, in order, up to ``ends``."""
    yield canonical({"tenant": tenant, "ends": ends_json(ends)})
    yield from map(canonical, entries)


def check_export(lines: Iterable[str], known: Iterable[Ends] = ()) -> TrailChecked:
    """Check an export by itself and against ends that were noted elsewhere. Raises ValueError when it is none."""
    read = iter(lines)
    head = _object(next(read, ""))
    tenant = head.get("tenant")
    if not isinstance(tenant, str):
        raise ValueError("the first line must name the tenant and the ends of its strands")
    ends = ends_of(head.get("ends"))
    noted = [ends, *known]
    found: dict[int, StrandChecked] = {}
    for strand, entries in groupby((_object(line) for line in read), key=_strand):
        if strand in found:  # it goes on after another one: nobody exports like that
            end = found[strand].end
            found[strand] = StrandChecked(end, found[strand].fault or StrandFault(end.length + 1, Wrong.MISPLACED))
            list(entries)
        else:
            known_here = [each[strand] for each in noted if strand in each]
            found[strand] = _whole(check_strand(entries, tenant, strand, known_here), ends.get(strand, EMPTY))
    missing = check_trail(tenant, {}, [{s: e for s, e in each.items() if s not in found} for each in noted])
    return TrailChecked(tenant, tuple(sorted([*found.items(), *missing.strands], key=lambda pair: pair[0])))


def _whole(checked: StrandChecked, end: ChainEnd) -> StrandChecked:
    """A strand of an export stops where its first line says."""
    if checked.fault is None and checked.end != end:
        return StrandChecked(checked.end, StrandFault(end.length + 1, Wrong.MISPLACED))
    return checked


def _strand(entry: JsonObject) -> int:
    """The strand that an entry claims; -1 when it claims none, so that what is damaged is a fault and no error."""
    strand = entry.get("strand")
    return strand if isinstance(strand, int) and not isinstance(strand, bool) else -1


def _object(line: str) -> JsonObject:
    """A line that is no JSON object counts as an empty one, which fits nowhere; so does one that names a member twice,
    since two readers could read it in two ways.
    """
    try:
        value: JsonValue = json.loads(line, object_pairs_hook=_once)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _once(members: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(members)
    if len(found) != len(members):
        raise ValueError("a member is named twice")
    return found


def noted_ends(noted: JsonValue) -> tuple[str, Ends]:
    """The tenant and the ends in the first line of an export. Raises ValueError when it is none."""
    document: JsonObject = noted if isinstance(noted, dict) else {}
    tenant = document.get("tenant")
    if not isinstance(tenant, str) or "ends" not in document:
        raise ValueError("there are no ends of an audit trail in it")
    return tenant, ends_of(document["ends"])
