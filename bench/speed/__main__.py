"""``python -m bench.speed``: everything in one run, under ten minutes on two quiet cores."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from bench.command_line import put_into
from bench.speed import cold, peer
from bench.speed.corpus import Corpus, make_corpus
from bench.speed.embedding import RememberingEmbedder, embedding_with
from bench.speed.latency import BATCH, Amounts, Latency, embedding_alone
from bench.speed.report import Results, Table, heading
from bench.speed.rig import Tables, new_user, open_tables
from lethe.adapters.local_model import LocalEmbedder

PARTS = ("latency", "batch", "cold", "mem0")
_QUICK = Amounts(sizes=(100, 1_000), warm=15, cold=3, after_write=4, writes=10)
_STARTS = 15
_ASKED_OF_MEM0 = 31


def main() -> None:
    options = _options()
    parts = set(options.only.split(",")) if options.only else set(PARTS)
    if not parts <= set(PARTS):
        sys.exit(f"--only takes some of {','.join(PARTS)}")
    with ExitStack() as resources:
        quiet = resources.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        resources.enter_context(redirect_stdout(quiet))  # the functions' own log
        folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="lethe-bench-")))
        tables = resources.enter_context(open_tables())
        about = heading(tables.backend.description.partition(",")[0])
        results = _measure(tables, parts, folder, options.quick, options.profile)
    shown = results.tables()
    print(f"{about}\n")
    for table in shown:
        print(table.text())
    for reason in results.skipped:
        print(f"skipped: {reason}")
    _write(shown, about, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--only", metavar="PARTS", help=f"some of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="smaller and fewer: to see that it runs, not to quote")
    parser.add_argument("--profile", action="store_true", help="also what each function's imports cost, by package")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there")
    parser.add_argument("--docs", type=Path, metavar="FILE", help="put the tables between the marks in that page")
    return parser.parse_args()


def _measure(tables: Tables, parts: set[str], folder: Path, quick: bool, profile: bool) -> Results:
    results = Results()
    if "cold" in parts:
        _cold(results, tables, folder, 3 if quick else _STARTS, profile)
    if not parts & {"latency", "batch", "mem0"}:
        return results
    amounts = _QUICK if quick else Amounts()
    embedder = RememberingEmbedder(LocalEmbedder())
    corpus = make_corpus(amounts.sizes[-1], 200)
    with embedding_with(embedder):
        latency = Latency(tables, corpus, embedder, amounts)
        with latency.running():
            results.embed_ms = _embed_ms(embedder, corpus)
            if "batch" in parts:
                results.batch = _batch(latency, corpus)
            _say(f"embedding {len(corpus.statements):,} statements, once for all that follows")
            vectors = embedder.learn(corpus.statements)
            if "latency" in parts:
                for scenario in latency.all():
                    _say(f"{scenario.name}, {scenario.size:,} memories: p50 {1000 * scenario.p50:.1f} ms")
                    results.scenarios.append(scenario)
            if "mem0" in parts:
                questions = corpus.questions[:_ASKED_OF_MEM0]
                known = [*corpus.statements, *questions]
                stacked = [*vectors, *embedder.learn(questions)]
                _mem0(results, latency, known, stacked, corpus, amounts.sizes, folder)
    return results


def _embed_ms(embedder: RememberingEmbedder, corpus: Corpus) -> float:
    times = []
    for number, question in enumerate(corpus.questions[:40]):
        started = perf_counter()
        embedder.embed([f"{question} {number}"], "query")
        times.append(perf_counter() - started)
    return 1000 * median(times[5:])


def _batch(latency: Latency, corpus: Corpus) -> tuple[float, float]:
    _say("a batch of 1,000, embedded as it comes")
    request = latency.batch(new_user(), corpus.statements[:BATCH])
    return request.seconds, request.seconds - embedding_alone(request)


def _cold(results: Results, tables: Tables, folder: Path, runs: int, profile: bool) -> None:
    settings = folder / "cold"
    settings.mkdir()
    with cold.prepared(tables, settings) as kinds:
        _say(f"cold starts: {runs} of each of {', '.join(kind.name for kind in kinds)}")
        results.starts = cold.measure(kinds, runs, folder)
        if profile:
            results.imports = {kind.name: cold.imports(kind, folder) for kind in kinds}


def _mem0(
    results: Results,
    latency: Latency,
    known: Sequence[str],
    vectors: Sequence[NDArray[np.float32]],
    corpus: Corpus,
    sizes: Sequence[int],
    folder: Path,
) -> None:
    _say("mem0")
    why_not = peer.install()
    if why_not is not None:
        results.skipped.append(why_not)
        return
    with peer.running(known, vectors, folder) as other:
        for size in [500, *(size for size in sizes if size >= 1_000)]:
            questions = corpus.questions[:_ASKED_OF_MEM0]
            results.beside.append(peer.compare(latency, other, corpus.statements, questions, size))
            _say(f"mem0 at {size:,}: done")


def _write(tables: Sequence[Table], about: str, options: argparse.Namespace) -> None:
    fragment = "\n".join([about, "", *(table.markdown() for table in tables)])
    if options.markdown:
        options.markdown.write_text(fragment, encoding="utf-8")
    if options.docs:
        put_into(options.docs, "speed", [fragment])
    if options.json:
        plain = {table.title: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in tables}
        options.json.write_text(json.dumps({"about": about, "tables": plain}, indent=2), encoding="utf-8")


def _say(line: str) -> None:
    print(f"· {line}", file=sys.stderr, flush=True)


main()
