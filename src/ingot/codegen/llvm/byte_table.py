"""Functions of one byte that give one: a table of all 256 results is looked up by vectors of 64 bytes.

It pays for rows of a thousand elements, whatever is computed: a lookup takes a third of an instruction an element.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I16
from ingot.codegen.llvm.work import operations_of
from ingot.dataclass import dataclass
from ingot.dtypes import DType
from ingot.loops.ir import Apply, For, Index, Literal, Load, RuntimeScalar, Store, Var
from ingot.loops.rewrite import parts

SHORTEST = 1024
"""Elements of a row from which on a table of 256 is computed first."""

BYTES = 64
"""The bytes that are looked up at once, and that a quarter of the table has."""

_FEWEST_OPERATIONS = 8
"""Operations from which on a lookup takes less than half of their time."""

_WORDS = ir.VectorType(I16, BYTES // 2)
_CODES = (DType.INT8, DType.UINT8)


@dataclass(frozen=True, slots=True)
class ByteTable:
    """A store of bytes that depend on nothing but what `loads` read, all the same byte."""

    store: Store
    loads: tuple[Load, ...]


def byte_table_of(loop: For) -> ByteTable | None:
    """What a loop stores, if it is a costly function of one byte for each; None of any other loop."""
    match loop.body:
        case (Store() as store,) if store.buffer.dtype in _CODES and _is_along(store.index, loop.var):
            pass
        case _:
            return None
    loads: list[Load] = []
    for part in parts([store.value]):
        match part:
            case Literal() | RuntimeScalar():
                pass
            case Apply(dtype=dtype, function="divide" | "remainder") if dtype.is_integer:
                return None  # which reports a zero
            case Apply():
                pass
            case Load(dtype=dtype, where=()) if dtype in _CODES and _is_along(part.index, loop.var):
                loads.append(part)
            case Load(where=()) if part.index.factor(loop.var) == 0 and _is_plain(part.index):
                pass
            case _:
                return None
    places = {(load.buffer, frozenset(load.index.terms), load.index.offset) for load in loads}
    if len(places) != 1 or operations_of(loop.body) < _FEWEST_OPERATIONS:
        return None
    return ByteTable(store, tuple(loads))


def looked_up(b: Builder, table: Sequence[ir.Value], codes: ir.Value) -> ir.Value:
    """The bytes at places of a table, whose quarters are vectors of words; each word has the results of two places."""
    words = b.bitcast(codes, _WORDS)
    even, odd = b.and_(words, _all(0xFF)), b.lshr(words, _all(8))
    low = b.and_(_result(b, table, even), _all(0xFF))
    return b.bitcast(b.or_(low, b.shl(_result(b, table, odd), _all(8))), codes.type)


def _result(b: Builder, table: Sequence[ir.Value], places: ir.Value) -> ir.Value:
    """The results at places, in the lower bytes of words."""
    kind = ir.FunctionType(_WORDS, [_WORDS, _WORDS, _WORDS])
    pick = b.module.declared("llvm.x86.avx512.vpermi2var.hi.512", kind)
    pair = b.lshr(places, _all(1))
    first, second = (b.call(pick, [table[half], pair, table[half + 1]]) for half in (0, 2))
    both = b.select(b.icmp_unsigned("<", pair, _all(BYTES)), first, second)
    return b.lshr(both, b.shl(b.and_(places, _all(1)), _all(3)))


def _all(number: int) -> ir.Constant:
    return ir.Constant(_WORDS, [number] * _WORDS.count)


def _is_along(index: Index, row: Var) -> bool:
    return index.factor(row) == 1 and _is_plain(index)


def _is_plain(index: Index) -> bool:
    return all(isinstance(term, Var) for term, _ in index.terms)
