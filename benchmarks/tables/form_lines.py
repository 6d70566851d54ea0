"""Forms of operators as lines of text, and the cases they stand for.

A line has an operator, the name of a form, its inputs, its attributes, and sizes by name, one for tiny, typical and
large each:

    Conv | 3x3 | [1,C,S,S] ![C,C,3,3] ![C] | pads=[1,1,1,1] | C=2,64,64 S=5,28,112

An input is a type, a mark, and a shape or values. The type is one of numpy's in short (`f4 f2 f8 i8 i4 i2 i1 u1 b s`),
or the type of the form where there is none; `!` marks a constant; `<N` after the shape bounds integers; `=` comes
before values, as in `i8!=[0,-1]`, and `~` before an expression of numpy's, as in `f4~np.linspace(0, 1, N)`; where
strings are asked for, numbers are written out. `*K` after the shape makes a sequence of so many arrays. `-` is an
omitted input. Everything may be an expression of the sizes, without spaces. Outputs are one, unless an attribute
`outputs` says how many. A line whose form begins with `*` is repeated for every type that onnxruntime's kernels take in
the first input.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tables.case import SIZES, Argument, Case, model_of_node, random_array
from benchmarks.tables.peer import dtypes_of

FOLDER = Path(__file__).parent / "forms"
DOMAINS = {"standard.txt": "", "microsoft.txt": "com.microsoft"}
_SHORT = {
    "f4": "float32", "f2": "float16", "f8": "float64", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
    "u1": "uint8", "b": "bool", "s": "string",
}  # fmt: skip
_INPUT = re.compile(r"(?P<type>f4|f2|f8|i8|i4|i2|i1|u1|b|s)?(?P<constant>!)?(?P<kind>[\[=~])(?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Form:
    """A line: everything but the domain as text, sizes as numbers by name for each of SIZES."""

    domain: str
    operator: str
    name: str
    inputs: tuple[str, ...]
    attributes: str
    sizes: Mapping[str, tuple[int, ...]]

    @property
    def title(self) -> str:
        """The operator as the table has it, with its domain if that is not the standard's."""
        return ".".join(filter(None, (self.domain, self.operator)))

    @property
    def dtypes(self) -> list[str]:
        """The types that it is for: the first stands in no name."""
        if not self.name.startswith("*"):
            return ["float32"]
        return dtypes_of(self.domain, self.operator) or ["float32"]


def forms() -> Iterator[Form]:
    """Those of the text files."""
    for name, domain in DOMAINS.items():
        for line in (FOLDER / name).read_text("utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                yield from parsed(line, domain)


def parsed(line: str, domain: str) -> Iterator[Form]:
    """The forms of a line, which may name several operators."""
    operators, name, inputs, attributes, sizes = (part.strip() for part in line.split("|"))
    numbers = {key: tuple(map(int, values.split(","))) for key, values in (part.split("=") for part in sizes.split())}
    for operator in operators.split():
        yield Form(domain, operator, name, tuple(inputs.split()), attributes, numbers)


def name_of(form: Form, dtype: str) -> str:
    """The name of a form in a type: float32 stands for itself only where there is nothing else."""
    return ", ".join(part for part in (form.name.lstrip("* "), dtype if dtype != "float32" else "") if part) or dtype


def cases(form: Form, dtype: str) -> Iterator[Case]:
    """A form of a type in every size; strings in two, since megabytes of them are nobody's input."""
    for place, size in enumerate(SIZES[:2] if dtype == "string" else SIZES):
        numbers = {name: values[min(place, len(values) - 1)] for name, values in form.sizes.items()}
        yield _case(form, name_of(form, dtype), dtype, size, numbers)


def _case(form: Form, name: str, dtype: str, size: str, numbers: Mapping[str, int]) -> Case:
    random = np.random.default_rng(zlib.crc32(f"{form.operator} {name} {size}".encode()))
    scope = {"np": np, "rng": random, **numbers}
    arguments = [None if text == "-" else _argument(text, dtype, scope, random) for text in form.inputs]
    attributes = eval(f"dict({form.attributes})", scope)
    outputs = attributes.pop("outputs", 1)
    model, feeds = model_of_node(form.operator, form.domain, arguments, attributes, outputs)
    return Case(form.title, name, size, model, feeds)


def _argument(text: str, dtype: str, scope: Mapping[str, Any], random: np.random.Generator) -> Argument:
    match = _INPUT.fullmatch(text)
    if match is None:
        raise ValueError(f"no input of a form: {text!r}")
    short = match["type"]
    name, constant = (dtype if short is None else _SHORT[short]), match["constant"] is not None
    if match["kind"] != "[":
        values = np.asarray(eval(match["text"], dict(scope)), np.str_ if name == "string" else name)
        return Argument(values.astype(object) if name == "string" else values, constant)
    shape, _, behind = match["text"].partition("]")
    sizes = eval(f"({shape},)" if shape else "()", dict(scope))
    number = int(eval(behind[1:], dict(scope))) if behind else None
    if behind.startswith("*"):
        return Argument([random_array(random, name, sizes) for _ in range(number or 0)])
    most = number
    return Argument(random_array(random, name, sizes, most), constant)
