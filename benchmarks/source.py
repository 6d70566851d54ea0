"""Models as programs: which come back equal, and which programs of numpy agree with the standard's expectations.

`python -m benchmarks.source [FOLDER]` runs all conformance cases and the models of the zoo, which are in `build/zoo` or
the folder that is named, and writes `results/source.md`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ingot
from benchmarks.zoo import FOLDER
from ingot.ir.equality import differs
from ingot.source.api import Style, to_source

RESULTS = Path(__file__).parent / "results" / "source.md"
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main() -> None:
    """Run everything and write the table."""
    from conformance.cases import node_cases

    cases = node_cases()
    models = {name: ingot.from_onnx(case.model) for name, case in cases.items()}
    rows = [
        "# Models as programs",
        "",
        "| | models | equal or agreeing | refused | different |",
        "|---|---|---|---|---|",
    ]
    differing: list[str] = []
    styles: tuple[Style, ...] = ("build", "onnx")
    rows += [_row(f"conformance, style {style}", _equal(models.items(), style, differing)) for style in styles]
    refused: Counter[str] = Counter()
    rows.append(_row("conformance, style numpy", _agreeing(cases, models, refused, differing)))
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    zoo = [(path.stem, ingot.load(path)) for path in sorted(folder.glob("*.onnx"))]
    rows += [_row(f"zoo, style {style}", _equal(zoo, style, differing)) for style in styles]
    rows += ["", "Refused in style numpy: " + (", ".join(f"{n} ({c})" for n, c in refused.most_common()) or "nothing")]
    rows += ["", *(f"- {line}" for line in differing)]
    RESULTS.write_text("\n".join(rows).rstrip() + "\n", encoding="utf-8")
    print(RESULTS.read_text("utf-8"))


def _row(name: str, outcomes: Counter[str]) -> str:
    numbers = [sum(outcomes.values()), outcomes["same"], outcomes["refused"], outcomes["different"]]
    return f"| {name} | {' | '.join(map(str, numbers))} |"


def _equal(models: Any, style: Style, differing: list[str]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for name, model in models:
        built = _run(model, style)["make_model"]()
        reason = differs(model, built if style == "build" else ingot.from_onnx(built))
        outcomes["same" if reason is None else "different"] += 1
        if reason is not None:
            differing.append(f"{name}, style {style}: {reason}")
    return outcomes


def _agreeing(cases: Any, models: Any, refused: Counter[str], differing: list[str]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for name, case in cases.items():
        try:
            run = _run(models[name], "numpy")["run"]
        except ingot.UnsupportedError as error:
            outcomes["refused"] += 1
            refused[error.message.removeprefix("numpy has no program for ")] += 1
            continue
        reason = next(_disagreements(case, models[name], run), None)
        outcomes["same" if reason is None else "different"] += 1
        if reason is not None:
            differing.append(f"{name}, style numpy: {reason}")
    return outcomes


def _disagreements(case: Any, model: ingot.Model, run: Any) -> Iterator[str]:
    from conformance.cases import plain, same

    for inputs, outputs in case.data_sets:
        with np.errstate(all="ignore"):
            results = run(*map(plain, inputs))
        results = results if isinstance(results, tuple) else (results,)
        for value, result, expected in zip(model.graph.outputs, results, outputs, strict=True):
            array = np.asarray(result) if isinstance(result, np.generic) else result
            try:
                same(array, plain(expected), case.rtol, case.atol, value.name)
            except AssertionError as error:
                yield str(error).strip().split("\n")[0]


def _run(model: ingot.Model, style: Style) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        to_source(model, style=style, weights="program.npz").write(path)
        return run_path(str(path), run_name="program")


if __name__ == "__main__":
    main()
