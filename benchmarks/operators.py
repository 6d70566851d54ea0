"""Every operator that onnxruntime runs on the processor, in its common forms, types and sizes, on both engines.

    python -m benchmarks operators [--only PATTERN] [--threads N]

Forms are lines of text (`tables/forms`) and the standard's own node tests (`tables/conformance.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks.tables import conformance, form_lines
from benchmarks.tables.case import SIZES, Case
from benchmarks.tables.page import page
from benchmarks.tables.peer import operators
from benchmarks.tables.run import run

MOST_TESTS = 5
"""Node tests of one operator in the table, at most: those of names with an even distance."""


def table(only: str = "", threads: int = 1) -> str:
    """The page; with `only`, of cases whose name has this regular expression."""
    rows, left_out = run(cases(only), threads)
    counted = {row.operator for row in rows}
    kernels = (".".join(filter(None, key)) for key in operators() if key[0] in ("", "com.microsoft"))
    missing = sorted(name for name in kernels if name not in counted)
    about = [
        "Operators of the standard and of `com.microsoft` in their common forms, as models of one node. Sizes are a",
        "few elements (tiny), as in models (typical), and some megabytes (large). Written by",
        "`python -m benchmarks operators`.",
    ]
    if not only:
        about += ["", f"Operators with a kernel in onnxruntime that no row has: {', '.join(missing) or 'none'}."]
    return page("Operators", about, rows, left_out, threads)


def cases(only: str = "") -> Iterator[Case]:
    """The cases whose names have a regular expression, made one after another."""
    pattern = re.compile(only)
    for form in form_lines.forms():
        for dtype in form.dtypes:
            named = form_lines.name_of(form, dtype)
            if any(pattern.search(f"{form.title} {named} {size}") for size in SIZES):
                yield from (case for case in form_lines.cases(form, dtype) if pattern.search(case.name))
    for operator, names in tests_by_operator().items():
        for name in names:
            if any(
                pattern.search(f"{operator} {name}{rest} {size}") for rest in conformance.VARIANTS for size in SIZES
            ):
                yield from (case for case in conformance.cases(name) if pattern.search(case.name))


def tests_by_operator() -> dict[str, list[str]]:
    """The names of the node tests in the table, by operator."""
    every: dict[str, list[str]] = {}
    for name, test in conformance.node_tests().items():
        every.setdefault(conformance.operator_of(test), []).append(name)
    return {operator: names[:: -(-len(names) // MOST_TESTS)] for operator, names in sorted(every.items())}
