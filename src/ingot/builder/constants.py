"""Constants of a model in the making: each array once, named as the user's code names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import CodeType

import numpy as np

from ingot.builder.emission import emit
from ingot.builder.location import failure
from ingot.builder.scope import Scope
from ingot.dtypes import Array, DType
from ingot.errors import InputError
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value

_SMALL = 1024
"""Bytes up to which arrays are copied and known by their content; larger ones are shared and known by identity."""


class Constants:
    """The constants made so far; as initialisers, or as Constant nodes in a function, which has no initialisers."""

    __slots__ = ("_as_nodes", "_by_content", "_by_identity", "_names")

    def __init__(self, *, as_nodes: bool) -> None:
        self._as_nodes = as_nodes
        self._names: dict[int, str] = {}
        self._by_identity: dict[int, tuple[object, Value]] = {}  # holds the array, so that its id stays its own
        self._by_content: dict[tuple[object, ...], Value] = {}

    def note_names(self, fn: Callable[..., object]) -> None:
        """Remember what `fn` calls the arrays it sees from outside: its closure first, then globals it reads."""
        for name, seen in _surroundings(fn):
            if isinstance(seen, np.ndarray | Tensor | SparseTensor):
                self._names.setdefault(id(seen), name)

    def declare(self, constants: Mapping[str, Array | Tensor | SparseTensor], scope: Scope) -> None:
        """Make constants initialisers of the graph of `scope`, in order, under these very names."""
        for name, constant in constants.items():
            if isinstance(constant, SparseTensor):
                tensor: Tensor | SparseTensor = constant
            else:
                tensor = (constant if isinstance(constant, Tensor) else as_tensor(np.asarray(constant))).renamed(name)
            value = scope.graph.add_initializer(scope.trace.named(name), tensor)
            self._by_identity[id(constant)] = constant, value

    def add(self, constant: Array | Tensor | SparseTensor, scope: Scope) -> Value:
        """The value of a constant in the outermost graph of `scope`, the same for the same constant."""
        known = self._by_identity.get(id(constant))
        if known is not None:
            return known[1]
        own = "" if isinstance(constant, np.ndarray) else constant.name
        noted = "" if own and scope.trace.exact else self._names.get(id(constant))
        stem = noted or own or "constant"
        is_written_out = scope.trace.exact and isinstance(constant, Tensor)
        if is_written_out or (isinstance(constant, np.ndarray) and constant.nbytes <= _SMALL):
            assert not isinstance(constant, SparseTensor)
            tensor = constant if isinstance(constant, Tensor) else as_tensor(constant.copy())
            content = tuple(tensor.strings()) if tensor.dtype is DType.STRING else bytes(tensor.raw())
            key = (stem, tensor.dtype, tensor.shape, content)
            if key not in self._by_content:
                self._by_content[key] = self._make(tensor, stem, scope)
            return self._by_content[key]
        value = self._make(as_tensor(constant) if isinstance(constant, np.ndarray) else constant, stem, scope)
        self._by_identity[id(constant)] = constant, value
        return value

    def _make(self, tensor: Tensor | SparseTensor, stem: str, scope: Scope) -> Value:
        base = scope.outermost
        if not self._as_nodes:
            name = base.trace.named(stem)
            return base.graph.root.add_initializer(name, tensor.renamed(name) if isinstance(tensor, Tensor) else tensor)
        key = "value" if isinstance(tensor, Tensor) else "sparse_value"
        type_ = tensor.type if isinstance(tensor, Tensor) else None
        return emit("Constant", (), {key: tensor}, types=[type_], scope=base, outputs=[stem])[0]


def as_tensor(array: Array) -> Tensor:
    """A tensor over `array`; BuildError if ONNX has no such elements."""
    try:
        return Tensor(array)
    except InputError as error:
        raise failure(error.message, hint=error.hint) from None


def _surroundings(fn: Callable[..., object]) -> Iterator[tuple[str, object]]:
    while isinstance(fn, partial):
        fn = fn.func
    fn = getattr(fn, "__func__", fn)
    code = getattr(fn, "__code__", None)
    if not isinstance(code, CodeType):
        return
    for name, cell in zip(code.co_freevars, getattr(fn, "__closure__", None) or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # assigned only later
            continue
    names = getattr(fn, "__globals__", {})
    yield from ((name, names[name]) for name in _names_read(code) if name in names)


def _names_read(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_read(constant)
