"""Reads the prices of `prices.json`: one file, each price with its source and date."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TypedDict, cast


class Price(TypedDict, total=False):
    """One price: dollars for a `unit`; `source` and `date` are null where none was found."""

    usd: float
    unit: str
    source: str | None
    date: str | None
    note: str


class _File(TypedDict):
    region: str
    collected: str
    prices: Mapping[str, Price]


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one region, and when they were collected."""

    region: str
    collected: str
    by_name: Mapping[str, Price]

    def usd(self, name: str) -> float:
        """Dollars for one unit. Raises KeyError where there is no such price."""
        return self.by_name[name]["usd"]

    def instance_types(self) -> list[str]:
        """The OpenSearch instance types that have a price, cheapest first."""
        priced = [name for name in self.by_name if name.startswith(_INSTANCES) and name.endswith(".search")]
        return [name.removeprefix(_INSTANCES) for name in sorted(priced, key=self.usd)]


_INSTANCES = "opensearch."


def load_prices() -> Prices:
    """The prices that come with this package."""
    text = files("lethe_client.cli").joinpath("prices.json").read_text(encoding="utf-8")
    read = cast(_File, json.loads(text))
    return Prices(read["region"], read["collected"], read["prices"])
