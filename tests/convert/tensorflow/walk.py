"""Every case converted and compared; `python tests/convert/tensorflow/walk.py` writes the table of operators."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import tensorflow as tf

from convert.tensorflow.cases import Case, all_cases
from ingot.convert.request import Request
from ingot.convert.tensorflow import convert_tensorflow
from ingot.convert.tensorflow.refused import REASONS
from ingot.convert.tensorflow.rule import rules
from ingot.convert.verify import verify
from ingot.errors import ConvertError, IngotError, VerifyError

TABLE = Path("benchmarks/results/tensorflow.md")


def outcome(case: Case, providers: Sequence[str] = ("reference",)) -> str:
    """`equal`, or what is wrong."""
    try:
        function = tf.function(case.function, input_signature=case.specs, autograph=False).get_concrete_function()
    except Exception as error:
        return f"untraceable: {_line(error)}"
    try:
        source = convert_tensorflow(function, case.arrays, Request())
        if not any(size is None for spec in case.specs for size in spec.shape):
            source = replace(source, examples=source.examples[:1])  # variants may break what an operator asks for
        verify(source, providers=providers)
    except VerifyError as error:
        return f"wrong: {error.message}; {'; '.join(error.where)}"
    except ConvertError as error:
        return f"refused: {'; '.join(error.where)}"
    except IngotError as error:
        return f"wrong: {error.message}; {'; '.join(error.where)}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {_line(error)}"
    return "equal"


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__


def main(wanted: Sequence[str]) -> int:
    found: dict[str, list[tuple[str, str]]] = {}
    start = time.perf_counter()
    for case in all_cases():
        if wanted and case.op not in wanted:
            continue
        result = outcome(case, ("cpu", "reference"))
        found.setdefault(case.op, []).append((case.dtype, result))
        if result != "equal":
            print(case, result, flush=True)
    count = sum(len(each) for each in found.values())
    equal = sum(result == "equal" for each in found.values() for _, result in each)
    print(f"{equal} of {count} cases equal, {len(found)} operators, {time.perf_counter() - start:.0f} s")
    if not wanted:
        _write(found, count, equal)
    return int(equal != count)


def _write(found: dict[str, list[tuple[str, str]]], count: int, equal: int) -> None:
    known = sorted(rules())
    reasons: dict[str, list[str]] = {}
    for kind, reason in REASONS.items():
        reasons.setdefault(reason, []).append(kind)
    lines = [
        "# TensorFlow",
        "",
        f"Every raw operator of TensorFlow {tf.__version__} that has a rule, called through `tf.raw_ops` in a",
        "function, converted, and run beside it by machine code: `python tests/convert/tensorflow/walk.py`.",
        "",
        f"- {len(known)} operators have a rule.",
        f"- {equal:,} of {count:,} cases are equal: floats within 1e-4 of TensorFlow's (1e-6 for float64, 2e-2 for",
        "  float16, 1e-1 for bfloat16, 5e-3 for ResizeBicubic, whose weights TensorFlow takes from a table), all else",
        "  exactly.",
        f"- {len(REASONS)} more are refused for a reason, listed below; any other is listed by its name when a model",
        "  has it.",
        "",
        "| operator | cases | types | |",
        "|---|---|---|---|",
    ]
    for kind in known:
        cases = found.get(kind, [])
        types = ", ".join(dict.fromkeys(dtype for dtype, _ in cases))
        wrong = "; ".join(dict.fromkeys(result for _, result in cases if result != "equal"))
        result = (wrong.replace("|", "/")[:160] or "equal") if cases else "no case"
        lines.append(f"| {kind} | {len(cases)} | {types} | {result} |")
    lines += ["", "| refused | because it |", "|---|---|"]
    lines += [f"| {', '.join(sorted(kinds))} | {reason} |" for reason, kinds in reasons.items()]
    TABLE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
