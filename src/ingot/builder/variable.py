"""Var: what a function under @build sees in place of an array."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy.typing as npt

from ingot.builder import arithmetic, shapes
from ingot.builder.annotations import Element
from ingot.builder.indexing import subscript
from ingot.builder.known import dtype_of, shape_of
from ingot.builder.literals import is_operand
from ingot.builder.location import failure
from ingot.builder.operand import Traced
from ingot.dtypes import DType
from ingot.errors import InputError
from ingot.ir.types import Type


class Var(Traced):
    """A value of the graph in the making; operators on it make nodes.

    `value` is the `ir.Value` it stands for, and `Var(value)` gives one the operators. Comparisons make nodes too, so
    `a is b` is whether two are the same. Its contents are not known while building: it is neither true nor false,
    cannot be iterated over, and has no length.
    """

    __slots__ = ()
    __array_ufunc__ = None  # makes numpy leave `array + var` to __radd__

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def type(self) -> Type | None:
        """What is known of its type: None if nothing."""
        return self.value.type

    @property
    def dtype(self) -> DType | None:
        """The element type; None where it is not known."""
        return dtype_of(self.value)

    @property
    def rank(self) -> int | None:
        """The number of axes; None where it is not known."""
        sizes = shape_of(self.value)
        return None if sizes is None else len(sizes)

    @property
    def shape(self) -> Var:
        """The sizes as a 1-D int64 tensor: a Shape node."""
        return Var(shapes.shape(self.value))

    @property
    def T(self) -> Var:  # noqa: N802 - numpy's name
        """The axes in reverse order."""
        return Var(shapes.transpose(self.value))

    def astype(self, dtype: DType | Element | npt.DTypeLike) -> Var:
        """The elements converted: a Cast node."""
        try:
            return Var(shapes.cast(self.value, dtype.dtype if isinstance(dtype, Element) else DType.of(dtype)))
        except InputError as error:
            raise failure(error.message, hint=error.hint) from None

    def reshape(self, *sizes: object) -> Var:
        """Other sizes: integers of which one may be -1, values that hold one size each, or one value with them all."""
        return Var(shapes.reshape(self.value, sizes))

    def __getitem__(self, key: object) -> Var:
        return Var(subscript(self.value, key))

    def __add__(self, other: object) -> Var:
        return Var(arithmetic.arithmetic("Add", "+", self, other))

    def __radd__(self, other: object) -> Var:
        return Var(arithmetic.arithmetic("Add", "+", other, self))

    def __sub__(self, other: object) -> Var:
        return Var(arithmetic.arithmetic("Sub", "-", self, other))

    def __rsub__(self, other: object) -> Var:
        return Var(arithmetic.arithmetic("Sub", "-", other, self))

    def __mul__(self, other: object) -> Var:
        return Var(arithmetic.arithmetic("Mul", "*", self, other))

    def __rmul__(self, other: object) -> Var:
        return Var(arithmetic.arithmetic("Mul", "*", other, self))

    def __matmul__(self, other: object) -> Var:
        return Var(arithmetic.matmul(self, other))

    def __rmatmul__(self, other: object) -> Var:
        return Var(arithmetic.matmul(other, self))

    def __truediv__(self, other: object) -> Var:
        return Var(arithmetic.divide(self, other))

    def __rtruediv__(self, other: object) -> Var:
        return Var(arithmetic.divide(other, self))

    def __floordiv__(self, other: object) -> Var:
        return Var(arithmetic.floor_divide(self, other))

    def __rfloordiv__(self, other: object) -> Var:
        return Var(arithmetic.floor_divide(other, self))

    def __mod__(self, other: object) -> Var:
        return Var(arithmetic.modulo(self, other))

    def __rmod__(self, other: object) -> Var:
        return Var(arithmetic.modulo(other, self))

    def __pow__(self, other: object) -> Var:
        return Var(arithmetic.power(self, other))

    def __rpow__(self, other: object) -> Var:
        return Var(arithmetic.power(other, self))

    def __and__(self, other: object) -> Var:
        return Var(arithmetic.bitwise("And", "&", self, other))

    def __rand__(self, other: object) -> Var:
        return Var(arithmetic.bitwise("And", "&", other, self))

    def __or__(self, other: object) -> Var:
        return Var(arithmetic.bitwise("Or", "|", self, other))

    def __ror__(self, other: object) -> Var:
        return Var(arithmetic.bitwise("Or", "|", other, self))

    def __xor__(self, other: object) -> Var:
        return Var(arithmetic.bitwise("Xor", "^", self, other))

    def __rxor__(self, other: object) -> Var:
        return Var(arithmetic.bitwise("Xor", "^", other, self))

    def __lshift__(self, other: object) -> Var:
        return Var(arithmetic.shift("LEFT", "<<", self, other))

    def __rlshift__(self, other: object) -> Var:
        return Var(arithmetic.shift("LEFT", "<<", other, self))

    def __rshift__(self, other: object) -> Var:
        return Var(arithmetic.shift("RIGHT", ">>", self, other))

    def __rrshift__(self, other: object) -> Var:
        return Var(arithmetic.shift("RIGHT", ">>", other, self))

    def __neg__(self) -> Var:
        return Var(arithmetic.negate(self.value))

    def __pos__(self) -> Var:
        return self

    def __abs__(self) -> Var:
        return Var(arithmetic.absolute(self.value))

    def __invert__(self) -> Var:
        return Var(arithmetic.invert(self.value))

    def __eq__(self, other: object) -> Any:
        return Var(arithmetic.compare("Equal", "==", self, other)) if is_operand(other) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return Var(arithmetic.differ(self, other)) if is_operand(other) else NotImplemented

    def __lt__(self, other: object) -> Var:
        return Var(arithmetic.compare("Less", "<", self, other))

    def __le__(self, other: object) -> Var:
        return Var(arithmetic.compare("LessOrEqual", "<=", self, other))

    def __gt__(self, other: object) -> Var:
        return Var(arithmetic.compare("Greater", ">", self, other))

    def __ge__(self, other: object) -> Var:
        return Var(arithmetic.compare("GreaterOrEqual", ">=", self, other))

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise self._unknown("whether it is true", "choose in the model: op.Where(c, a, b) or op.If(c, then=f, else_=g)")

    def __len__(self) -> NoReturn:
        raise self._unknown("its length", "x.shape[0] is the size as a value of the model")

    def __iter__(self) -> NoReturn:
        raise self._unknown("what it holds", "take parts by x[0], op.Split(x, outputs=3), op.Loop or op.Scan")

    def __index__(self) -> NoReturn:
        raise self._unknown("which integer it is", "loop in the model: op.Loop(n, None, state, body=f)")

    def __int__(self) -> NoReturn:
        raise self._unknown("which integer it is", "x.astype('int64') converts in the model")

    def __float__(self) -> NoReturn:
        raise self._unknown("which number it is", "x.astype('float32') converts in the model")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise self._unknown("what it holds", "numpy cannot compute with it; op has ONNX's operators")

    def _unknown(self, what: str, hint: str) -> Exception:
        return failure(f"'{self.name}' is not known while building: {what} shows only when the model runs", hint=hint)

    def __repr__(self) -> str:
        return f"<Var {self.name}: {self.type or '?'}>"
