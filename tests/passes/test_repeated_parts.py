"""Parts of a tensor that a loop repeats, as PyTorch's tracing exporter writes it, are gathered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import IngotError
from ingot.session import Session

HEAD = '<ir_version: 10, opset_import: ["" : 21]>'
X = np.arange(24, dtype=np.float32)

MODEL = """g (float[SIZES] x, int64[n] counts, int64[1] trips) => (y) <
    bool go = {1}, int64[1] minus = {-1}, int64[1] axis = {BEHIND}, int64[TARGETS] target = {TARGET}
> {
    many = Shape (counts)
    ones = ConstantOfShape <value = int64[1] {1}> (many)
    numbers = SplitToSequence (counts, ones)
    parts = SplitToSequence <axis = AXIS> (x, ones)
    none = SequenceEmpty ()
    l = Loop (trips, go, none) <body = b (int64[1] i, bool c, seq(float[FREE]) q) => (d, u) {
        d = Cast <to = 9> (go)
        number = SequenceAt (numbers, i)
        part = SequenceAt (parts, i)
        wide = Unsqueeze (part, axis)
        asked = Concat <axis = 0> (AROUND)
        rank = Shape (asked)
        kept = ConstantOfShape <value = int64[1] {1}> (rank)
        negative = Mul (kept, minus)
        open = Equal (asked, negative)
        sizes = Where (open, kept, asked)
        repeated = Expand (wide, sizes)
        piece = Reshape (repeated, target)
        u = SequenceInsert (q, piece)
    } >
    y = ConcatFromSequence <axis = AXIS> (l)
}"""

FORMS: dict[str, dict[str, Any]] = {
    "rows": {"SIZES": "n, 4", "AXIS": 0, "before": [1], "after": [4], "TARGET": [-1, 4]},
    "columns": {"SIZES": "2, n, 3", "AXIS": 1, "before": [-1, 1], "after": [3], "TARGET": [0, -1, 3]},
    "numbers": {"SIZES": "n", "AXIS": 0, "before": [1], "after": [], "TARGET": [-1]},
}


def written(form: Mapping[str, Any], **changed: Any) -> ingot.Model:
    """The model of a form, with parts of it changed."""
    form = {"BEHIND": form["AXIS"] + 1, **form, **changed}
    around = [f"Constant <value_ints = {form[side]}> ()" for side in ("before", "after") if form[side]]
    names = [f"{side} = " for side in ("before", "after") if form[side]]
    order = [*(["before"] if form["before"] else []), "number", *(["after"] if form["after"] else [])]
    free = ", ".join("?" for _ in form["TARGET"])
    text = MODEL.replace("AROUND", ", ".join(order)).replace("FREE", free).replace("TARGETS", str(len(form["TARGET"])))
    text = text.replace("TARGET", ", ".join(map(str, form["TARGET"])))
    for name in ("SIZES", "AXIS", "BEHIND"):
        text = text.replace(name, str(form[name]))
    constants = "\n".join(name + constant for name, constant in zip(names, around, strict=True))
    return ingot.parse_model(f"{HEAD} {text.replace('many = Shape', f'{constants} many = Shape')}")


def outcome(session: Session, feeds: Mapping[str, Any]) -> Any:
    try:
        return session.run(None, feeds)[0]
    except IngotError as error:
        return type(error)


def agree(model: ingot.Model, *runs: Mapping[str, Any]) -> list[str]:
    """What the reference computes of a compiled model, which gives what the reference does."""
    reference = Session(model, providers=("reference",))
    session = Session(model, providers=("cpu", "reference"), threads=1, fallback=False)
    for feeds in runs:
        expected, result = outcome(reference, feeds), outcome(session, feeds)
        if isinstance(expected, np.ndarray):
            np.testing.assert_array_equal(result, expected, strict=True)
        else:
            assert result is expected
    assert session.compiled is not None
    return [node.op_type for node in session.compiled.program.calls]


def feeds(name: str, counts: list[int], trips: int | None = None) -> dict[str, Any]:
    x = {"rows": X.reshape(6, 4), "columns": X[:12].reshape(2, 2, 3), "numbers": X[:5]}[name]
    few = x[:, : len(counts)] if name == "columns" else x[: len(counts)]
    return {"x": few, "counts": np.array(counts), "trips": np.array([len(counts) if trips is None else trips])}


@pytest.mark.parametrize("name", FORMS)
def test_repeated_parts_are_gathered(name: str) -> None:
    runs = [[2, 3], [1, 1], [0, 2], [0, 0], [4, 0], [-1, 2], [3], [-2, 3], [3, -7]]
    assert agree(written(FORMS[name]), *(feeds(name, counts) for counts in runs)) == []


def test_fewer_trips_than_parts_repeat_the_first_and_more_are_an_error() -> None:
    assert agree(written(FORMS["rows"]), *(feeds("rows", [2, 3, 1], trips) for trips in (1, 2, 3, 4))) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"before": [2], "TARGET": [-1, 4]},
        {"after": [8], "TARGET": [-1, 8], "SIZES": "n, 1"},
        {"TARGET": [4, -1]},
        {"BEHIND": 0},
        {"before": [1, 1], "after": []},
    ],
    ids=["twice as often", "other axes too", "another shape", "an axis in front", "along another axis"],
)  # fmt: skip
def test_what_is_no_repetition_stays_a_loop(changed: dict[str, Any]) -> None:
    run = feeds("rows", [2, 3])
    if changed.get("SIZES") == "n, 1":
        run["x"] = run["x"][:, :1]
    assert "Loop" in agree(written(FORMS["rows"], **changed), run, {**run, "counts": np.array([4, 4])})


def test_parts_of_other_sizes_than_one_are_refused_as_before() -> None:
    run = feeds("rows", [2, 3])
    assert agree(written(FORMS["rows"], SIZES="m, 4"), run, {**run, "x": X.reshape(6, 4)})
