"""What runs of `nightly.py` found, as a page: `python tests/lower/recorded.py RESULT... > page.md`."""
# ruff: noqa: T201

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lower.compared import Tally

KINDS: dict[str, tuple[str, ...]] = {
    "products": ("MatMul", "Gemm", "Einsum", "MatMulInteger"),
    "convolutions and pooling": ("Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"),
    "softmax": ("Softmax", "LogSoftmax"),
    "normalisations": (
        "LayerNormalization", "RMSNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization",
    ),
    "cumulative sums": ("CumSum",),
    "gathers and scatters": (
        "Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements", "OneHot", "TopK", "ArgMax", "ArgMin",
        "Compress", "NonZero",
    ),
    "casts and quantisation": ("Cast", "CastLike", "QuantizeLinear", "DequantizeLinear"),
    "views, joins and padding": (
        "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Slice", "Concat", "Split", "Expand", "Tile", "Pad",
        "Shape", "Trilu", "DepthToSpace", "SpaceToDepth", "Resize",
        "ConstantOfShape",
    ),
}  # fmt: skip


def page(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of the page."""
    tally, wrong = Tally(), [each for record in records for each in record["wrong"]]
    for record in records:
        tally.add(record)
    seeds = ", ".join(f"{record['seed']:,} to {record['seed'] + record['graphs'] - 1:,}" for record in records)
    compared = tally.elements - tally.vague
    yield "# Random graphs"
    yield ""
    yield "Written by `tests/lower/recorded.py` from what `python tests/lower/nightly.py` leaves; the same seeds"
    yield "draw the same graphs. Each is run compiled, with one thread and with two, twice, and optimised at the"
    yield "levels 1 and 2, at up to four bindings of its named sizes, against the reference."
    yield ""
    rows = {
        "seeds": seeds,
        "graphs": f"{tally.graphs:,}",
        "nodes": f"{tally.nodes:,}, of which {tally.calls:,} run by the reference",
        "runs": f"{tally.runs:,}, and {tally.optimised:,} of optimised models",
        "refused by both sides": f"{tally.refused - sum(tally.spared.values()):,}",
        "refused by the reference alone": f"{sum(tally.spared.values()):,}",
        "elements compared": f"{compared:,}, of which {tally.same / max(1, tally.elements):.2%} hold the same bits",
        "elements without a bound": f"{tally.vague:,}, {tally.vague / max(1, tally.elements):.2%}",
        "wrong": f"{len(wrong):,}",
    }
    yield from _table(("what", "how many"), rows.items())
    yield "The largest distance from the reference as a part of what `tests/lower/rounding.py` allows, by element type:"
    yield ""
    yield from _table(("type", "largest"), [(name, f"{ratio:.2g}") for name, ratio in sorted(tally.ratios.items())])
    yield from _table(("kind of node", "nodes"), _kinds(tally))
    yield from _table(("results of nodes", "values"), [(n, f"{c:,}") for n, c in sorted(tally.types.items())])
    by_size = sorted(tally.sizes.items(), key=lambda item: int(item[0]))
    yield from _table(("a named size is", "times"), [(n, f"{c:,}") for n, c in by_size])
    if tally.spared:
        yield from _table(("said by the reference alone", "times"), [(n, f"{c:,}") for n, c in tally.spared.items()])
    for each in wrong:
        yield f"## Seed {each['seed']}"
        yield ""
        yield from ("```text", each["wrong"], each["model"], "```", "")


def _kinds(tally: Tally) -> Iterator[tuple[str, str]]:
    rest = dict(tally.operators)
    for kind, names in KINDS.items():
        yield kind, f"{sum(rest.pop(name, 0) for name in names):,}"
    reductions = [name for name in rest if name.startswith("Reduce")]
    yield "reductions", f"{sum(rest.pop(name) for name in reductions):,}"
    yield "elementwise", f"{sum(rest.values()):,}"


def _table(head: tuple[str, str], rows: Any) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "|---|---|"
    for name, value in rows:
        yield f"| {name} | {value} |"
    yield ""


if __name__ == "__main__":
    print("\n".join(page([json.loads(Path(each).read_text()) for each in sys.argv[1:]])).rstrip())
