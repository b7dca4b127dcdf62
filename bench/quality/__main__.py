"""Measure retrieval quality by cross-validation over conversations, and fit the relevance model.

python -m bench.quality --data ../shared/data            # the tables of docs/adr/0003
python -m bench.quality --data ../shared/data --write    # and the fitted model into the product
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from bench.quality.cases import SIZES, Prepared, gate_cases, prepare
from bench.quality.data import SETS, load
from bench.quality.evaluation import Below, compare, curve, gate_auc, gate_models, gate_weights, ranking_models, stored
from bench.quality.fitting import fit_gate
from bench.quality.writing import write_models
from lethe.adapters.local_model import LocalEmbedder
from lethe.domain.relevance import DEFAULT_THRESHOLD, RelevanceModel, relevance_model
from lethe.domain.relevance.model import CosineScale
from lethe.domain.relevance.ranking import estimate_scale

THRESHOLDS: Final = (0.0, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9)
BELOW: Final = Below(near=0.1, close=3.0, far=0.3)
OPEN_AT: Final = 0.23
"""Chance, with own and foreign memories equally likely, at which the gate opens: the default threshold is put there."""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the four sets")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "lethe-bench", help="for vectors")
    parser.add_argument("--parts", nargs="*", default=["minilm-use", "use", "words"], help="embedders to measure")
    parser.add_argument("--write", action="store_true", help="write the fitted models into the product")
    options = parser.parse_args(arguments)
    fitted = {parts: measure(parts, options.data, options.cache) for parts in options.parts}
    if options.write:
        write_models(fitted)


def measure(parts: str, root: Path, cache: Path) -> RelevanceModel:
    """Print the tables of one embedder and return the model fitted on all folds."""
    embedder = None if parts == "words" else LocalEmbedder("use" if parts == "use" else "minilm-use")
    sets = [prepare(load(root, name), embedder, cache) for name in SETS]
    label = embedder.model.label if embedder else None
    start = replace(relevance_model(label), reference=reference_scale(sets), version=f"{parts}-2")
    start = replace(start, scale=start.reference)
    folds, final = ranking_models(sets, start)
    print(f"\n## {label or 'words alone'}\n{final.rank}\n{final.reference}\n{'':30} R@5  R@10 nDCG@10 hit@5")
    for prepared in sets:
        for name, result in compare(prepared, folds).items():
            print(f"{prepared.data.name:15} {name:14} {result}", flush=True)
    if embedder is not None:
        for how in ("float16", "int8"):
            for prepared in sets:
                print(
                    f"{prepared.data.name:15} as {how:11} {compare(stored(prepared, how), folds)['Lethe']}", flush=True
                )
    return gate(sets, folds, final)


def gate(sets: Sequence[Prepared], folds: dict[int, RelevanceModel], final: RelevanceModel) -> RelevanceModel:
    """Print what the gate is worth and return ``final`` with the gate fitted on all folds."""
    shift = float(np.log(DEFAULT_THRESHOLD / (1 - DEFAULT_THRESHOLD)) - np.log(OPEN_AT / (1 - OPEN_AT)))
    by_set = {prepared.data.name: gate_cases(prepared, folds) for prepared in sets}
    cases = [case for of_set in by_set.values() for case in of_set]
    gated = gate_models(cases, folds, shift, BELOW)
    print("AUC of the gate: whole memory, then cut to", *SIZES, "turns")
    for name, of_set in by_set.items():
        print(f"{name:15}", *(f"{gate_auc(of_set, gated, size):.3f}" for size in (0, *SIZES)), flush=True)
    print("threshold: R@10, questions answered in one's own memory, empty in a foreign one")
    for prepared in sets:
        print(prepared.data.name)
        for point in curve(prepared, by_set[prepared.data.name], gated, THRESHOLDS):
            print(
                f"  {point.threshold:4.2f} {point.recall10:5.1f} {point.own_answered:5.1f} {point.foreign_empty:5.1f}"
            )
    return replace(final, gate=gate_weights(list(fit_gate(cases)), shift, BELOW))


def reference_scale(sets: Sequence[Prepared]) -> CosineScale:
    """Mean cosine scale over all conversations."""
    prior = CosineScale(0.0, 1.0)
    scales = [estimate_scale(c.vectors, prior, trusted=True) for p in sets for c in p.candidates.values()]
    return CosineScale(
        background=float(np.mean([scale.background for scale in scales])),
        spread=float(np.mean([scale.spread for scale in scales])),
    )


if __name__ == "__main__":
    main(sys.argv[1:])
