"""The table of TensorRT: the operators and types that its ONNX parser's own page lists.

    python -m benchmarks.targets.tensorrt 10.1 < onnx-tensorrt/docs/operators.md

The page is that of https://github.com/onnx/onnx-tensorrt at the branch of the release. It lists no versions of
operators: all that ONNX has up to the opset it names are taken to be meant. It says nothing of IR versions. The
restrictions that it states in words are written out in src/ingot/engine_support/restrictions.py.
"""

from __future__ import annotations

import re
import sys

import onnx

from benchmarks.targets.table_file import write

_KINDS = {
    "FP64": "float64",
    "FP32": "float32",
    "FP16": "float16",
    "BF16": "bfloat16",
    "INT64": "int64",
    "INT32": "int32",
    "INT8": "int8",
    "INT4": "int4",
    "UINT8": "uint8",
    "FP8": "float8e4m3fn",
    "BOOL": "bool",
}

_OF_ANY_KIND = ("ConstantOfShape",)
"""The page lists float32 alone, but the parser's source takes whatever the value is of."""


def main(release: str, text: str) -> None:
    newest = [int(found) for found in re.findall(r"[Oo]pset (\d+)", text)]
    operators: dict[str, dict[int, list[dict[str, frozenset[str]]]]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:]]
        if len(cells) < 2 or cells[1] not in ("Y", "N"):
            continue
        name = cells[0]
        since = sorted({s.since_version for s in onnx.defs.get_all_schemas_with_history() if _is(s, name)})
        taken: list[dict[str, frozenset[str]]] = []
        if cells[1] == "Y":
            kinds = frozenset(_KINDS[word] for word in re.findall(r"\w+", cells[2]) if word in _KINDS)
            taken = [{_data_slot(name): kinds}] if kinds and name not in _OF_ANY_KIND else [{}]
        operators[name] = dict.fromkeys(since or [1], taken)
    first = 9 if len(newest) > 1 else 7
    major = int(release.partition(".")[0])
    casts = {"float64": "float32"} | ({"int64": "int32"} if major < 10 else {})
    path = write(
        {
            "target": "tensorrt",
            "release": release,
            "where": "ONNX parser",
            "source": "the page of operators of onnx-tensorrt, and its restrictions",
            "ir_version": None,
            "opsets": {"": [first, max(newest)]},
            "casts": casts,
        },
        {"": operators},
    )
    count = sum(any(versions.values()) for versions in operators.values())
    print(
        f"wrote {path.name}: {count} operators taken, {len(operators) - count} refused, {path.stat().st_size:,} bytes"
    )


def _is(schema: onnx.defs.OpSchema, name: str) -> bool:
    return bool(schema.domain == "" and schema.name == name)


def _data_slot(name: str) -> str:
    """Where the page's types hold: the first input, or for what only makes values and for choices, elsewhere."""
    special = {"Constant": ">0", "Where": "1", "If": ">0", "Loop": "2+", "OneHot": "2"}
    variadic = ("Concat", "Max", "Min", "Mean", "Sum", "Einsum")
    return special.get(name, "0+" if name in variadic else "0")


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.read())
