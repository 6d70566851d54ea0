"""How often the tables of targets are right: the standard's node cases, predicted and really loaded.

    python -m benchmarks.targets.agreement onnxruntime openvino

writes benchmarks/results/targets.md for the engines named, in the releases that are installed; other parts stay.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx

import ingot
from benchmarks.targets.probe import cases
from ingot.engine_support import check_for
from ingot.engine_support.table import table_for

PAGE = Path(__file__).parents[1] / "results" / "targets.md"
_HEAD = """# Checks against targets

`ingot check MODEL --for TARGET` on every node case of the standard's suite: whether it says that the engine takes the
model, and whether the engine really loads and compiles it. Written by `python -m benchmarks.targets.agreement`.

"""
_SHOWN = 12


def main(names: list[str]) -> None:
    parts = _parts()
    for name in names:
        release = version(name).partition("-")[0]
        parts[f"{name} {release}"] = measured(f"{name}:{release}", _engine(name))
    PAGE.write_text(_HEAD + "\n".join(parts[name] for name in sorted(parts)), "utf-8")


def measured(name: str, loads: Callable[[Any], str | None]) -> str:
    """The section of one engine: a table of counts, and the cases that it differs on."""
    counts: Counter[tuple[bool, bool]] = Counter()
    wrong: list[str] = []
    for case, proto in cases().items():
        model = ingot.from_onnx(proto)
        errors = [finding for finding in check_for(model, name) if finding.severity == "error"]
        refusal = loads(proto)
        counts[not errors, refusal is None] += 1
        if bool(errors) == (refusal is None):
            said = errors[0].message if errors else "takes it"
            wrong.append(f"| {case} | {said} | {_short(refusal) if refusal else 'loads'} |")
    table = table_for(name)
    total = sum(counts.values())
    right = counts[True, True] + counts[False, False]
    lines = [
        f"## {table}",
        "",
        f"From {table.source}; what is spoken of is its {table.where}.",
        "",
        "| | loads | is refused |",
        "|---|---:|---:|",
        f"| said to be taken | {counts[True, True]:,} | {counts[True, False]:,} |",
        f"| said to be refused | {counts[False, True]:,} | {counts[False, False]:,} |",
        "",
        f"Right on {right:,} of {total:,} cases, {right / total:.2%}."
        + ("" if not wrong else " Wrong on:" if len(wrong) <= _SHOWN else f" Wrong on, the first {_SHOWN}:"),
    ]
    if wrong:
        lines += ["", "| case | said | really |", "|---|---|---|", *wrong[:_SHOWN]]
    print("\n".join([*lines[:10], *wrong]))

    lines[2] += f" Cases: onnx {onnx.__version__}."
    return "\n".join([*lines, ""])


def _engine(name: str) -> Callable[[Any], str | None]:
    """A function that loads a model, and gives the reason if it cannot be."""
    if name == "onnxruntime":
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)

        def load(model: Any) -> str | None:
            try:
                onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            except Exception as error:
                return str(error)
            return None

        return load
    from benchmarks.targets.openvino import Workers

    workers = Workers()
    return lambda model: workers.compile(model.SerializeToString())


def _short(text: str) -> str:
    line = re.sub(r"\s+", " ", text.replace("|", "/"))
    line = re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : ", "", line)
    return line[:110]


def _parts() -> dict[str, str]:
    if not PAGE.exists():
        return {}
    sections = re.split(r"^(?=## )", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return {" ".join(section.split()[1:3]): section.rstrip("\n") + "\n" for section in sections}


if __name__ == "__main__":
    main(sys.argv[1:])
