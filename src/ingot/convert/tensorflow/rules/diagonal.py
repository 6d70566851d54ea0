"""Diagonals and bands of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ingot.builder import Var, op
from ingot.convert.operands import cast, constant, number, rank, shape
from ingot.convert.tensorflow.operands import joined, known, size_of, sizes_of
from ingot.convert.tensorflow.rule import Site, rule
from ingot.dtypes import DType
from ingot.errors import UnsupportedError


@rule("Diag", "MatrixDiag")
def diag(site: Site, x: Var) -> Var:
    if site.op.type == "Diag" and rank(x) != 1:
        raise UnsupportedError("the diagonal of a tensor with more than two axes")
    return _matrix(x, 0, number(0, site.dtype))


@rule("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag(site: Site, x: Var, k: Var, rows: Var, columns: Var, padding: Var) -> Var:
    matrix = _matrix(x, _single(k), padding)
    wanted = (site.shape() or ())[-2:]
    if None not in wanted and shape(matrix)[-2:] != wanted:
        raise UnsupportedError("a number of rows and columns that the diagonal does not fill")
    return matrix


@rule("DiagPart", "MatrixDiagPart")
def diag_part(site: Site, x: Var) -> Var:
    if site.op.type == "DiagPart" and rank(x) != 2:
        raise UnsupportedError("the diagonal of a tensor with more than two axes")
    return _part(x, 0)


@rule("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part(site: Site, x: Var, k: Var, padding: Var) -> Var:
    return _part(x, _single(k))


@rule("MatrixSetDiag")
def matrix_set_diag(site: Site, x: Var, diagonal: Var) -> Var:
    return _set(x, diagonal, 0)


@rule("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag_k(site: Site, x: Var, diagonal: Var, k: Var) -> Var:
    return _set(x, diagonal, _single(k))


@rule("MatrixBandPart")
def matrix_band_part(site: Site, x: Var, lower: Var, upper: Var) -> Var:
    """Zero but for so many diagonals below and above; all of them for a negative number."""
    down, up = constant(lower), constant(upper)
    if down is not None and up is not None and (down.item(), up.item()) in ((-1, 0), (0, -1)):
        return op.Trilu(x, upper=int(up.item() == -1))
    rows, columns = _places(size_of(x, -2)), _places(size_of(x, -1))
    apart = op.Sub(op.Unsqueeze(rows, [1]), op.Unsqueeze(columns, [0]))
    inside = op.And(_within(apart, lower), _within(op.Neg(apart), upper))
    zero = np.array(False) if site.dtype is DType.BOOL else number(0, site.dtype)
    return op.Where(inside, x, zero)


def _within(apart: Var, most: Var) -> Var:
    wide = cast(most, DType.INT64)
    return op.Or(op.Less(wide, np.array(0, np.int64)), op.LessOrEqual(apart, wide))


def _single(k: Var) -> int:
    held = known(k, "the number of the diagonal").ravel()
    if len(set(held.tolist())) != 1:
        raise UnsupportedError("several diagonals")
    return int(held[0])


def _places(size: Any) -> Any:
    return op.Range(np.array(0, np.int64), op.Squeeze(size, [0]), np.array(1, np.int64))


def _on(rows: Any, columns: Any, k: int) -> Var:
    """Where the k-th diagonal above the main one is."""
    apart = op.Sub(op.Unsqueeze(_places(columns), [0]), op.Unsqueeze(_places(rows), [1]))
    return op.Equal(apart, np.array(k, np.int64))


def _by_row(x: Var, k: int) -> Var:
    """A diagonal with an element for each row of its matrix."""
    pads = np.zeros((2, rank(x)), np.int64)
    pads[:, -1] = max(-k, 0), max(k, 0)
    return op.Pad(x, pads.ravel()) if k else x


def _matrix(x: Var, k: int, padding: Any) -> Var:
    rows = _by_row(x, k)
    size = size_of(rows, -1)
    return op.Where(_on(size, size, k), op.Unsqueeze(rows, [-1]), padding)


def _part(x: Var, k: int) -> Var:
    """The k-th diagonal: of each row, the column on it; of the rows, those that have one."""
    rows, columns = size_of(x, -2), size_of(x, -1)
    wanted = op.Clip(
        op.Add(_places(rows), np.array(k, np.int64)), np.array(0), op.Squeeze(op.Sub(columns, np.array([1])), [0])
    )
    lead = op.Slice(sizes_of(x), [0], [rank(x) - 2]) if rank(x) > 2 else None
    places = op.Unsqueeze(wanted, [1])
    if lead is not None:
        places = op.Expand(places, joined(lead, rows, np.array([1], np.int64)))
    diagonals = op.Squeeze(op.GatherElements(x, places, axis=rank(x) - 1), [-1])
    first = max(-k, 0)
    last = op.Min(rows, op.Sub(columns, np.array([k], np.int64)))
    return op.Slice(diagonals, [first], last, [rank(x) - 2])


def _set(x: Var, diagonal: Var, k: int) -> Var:
    """A matrix with its k-th diagonal replaced."""
    rows, columns = size_of(x, -2), size_of(x, -1)
    pads = np.zeros(2 * rank(diagonal), np.int64)
    pads[rank(diagonal) - 1] = max(-k, 0)
    shifted = op.Pad(diagonal, pads) if k < 0 else diagonal
    have = size_of(shifted, -1)
    lacking = op.Max(op.Sub(rows, have), np.array([0], np.int64))
    zeros = np.zeros(rank(diagonal), np.int64)
    after = joined(zeros, *([zeros[:-1]] if rank(diagonal) > 1 else []), lacking)
    filled = op.Slice(op.Pad(shifted, after), [0], rows, [rank(diagonal) - 1])
    return op.Where(_on(rows, columns, k), op.Unsqueeze(filled, [-1]), x)
