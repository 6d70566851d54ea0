"""Where a rule is applied, and what it may ask and write there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ingot.convert.to_torch.dtypes import torch_dtype
from ingot.convert.to_torch.operand import Operand
from ingot.dtypes import DType
from ingot.errors import UnsupportedError
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.tensor import Tensor
from ingot.ir.types import TensorType, Type

if TYPE_CHECKING:
    from ingot.convert.to_torch.write import Writer


_DEEPEST = 80
_MOST_LOOPS = 18
"""Python takes 100 levels of indentation, and 20 blocks in each other."""


class Site:
    """One node while its line is written."""

    __slots__ = ("_writer", "node")

    def __init__(self, node: Node, writer: Writer) -> None:
        self.node = node
        self._writer = writer

    @property
    def device(self) -> str:
        """The variable that holds where tensors are made."""
        self._writer.uses_device = True
        return "device"

    def use(self, name: str) -> str:
        """The name of a function of the prelude, which the source then contains."""
        self._writer.used.add(name)
        return name

    def line(self, text: str) -> None:
        """Write a line of its own."""
        self._writer.line(text)

    def fresh(self, stem: str = "x") -> str:
        """A new variable."""
        return self._writer.names.numbered(stem)

    def variable(self, index: int = 0) -> str:
        """The variable of an output, which the rule then assigns itself."""
        return self._writer.variable(self.node.outputs[index])

    def held(self, text: str) -> str:
        """A variable that holds an expression, for a rule that reads it twice."""
        if text.isidentifier():
            return text
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    def wanted(self, index: int) -> bool:
        """Whether somebody reads an output."""
        outputs = self.node.outputs
        return index < len(outputs) and bool(outputs[index].uses or outputs[index].is_output)

    def type(self, index: int = 0) -> Type | None:
        return self.node.outputs[index].type

    def dtype(self, index: int = 0) -> DType:
        """The element type of an output; UnsupportedError where it is statically unknown."""
        type_ = self.type(index)
        if not isinstance(type_, TensorType) or type_.dtype is DType.UNDEFINED:
            raise UnsupportedError("the element type of its result is not known")
        return type_.dtype

    def torch_dtype(self, index: int = 0) -> str:
        return torch_dtype(self.dtype(index))

    def rank(self, index: int = 0) -> int | None:
        type_ = self.type(index)
        return type_.rank if isinstance(type_, TensorType) else None

    def added_after(self) -> tuple[Node, Operand] | None:
        """The Add that alone reads the result, and the vector of the model that it adds."""
        value = self.node.output
        if len(value.uses) != 1 or value.is_output:
            return None
        [(add, position)] = value.uses
        other = add.inputs[1 - position] if add.applies("Add") and add.graph is self.node.graph else None
        if other is None or not other.is_initializer or other.constant is None or len(other.constant.shape) != 1:
            return None
        return add, self._writer.operand(other)

    def say_too(self, node: Node) -> str:
        """The variable of a later node, translated by the same rule; nothing else may read what is between."""
        self._writer.written.add(node)
        return self._writer.variable(node.output)

    def constant(self, tensor: Tensor) -> Operand:
        """The operand of a constant that the node itself holds."""
        return self._writer.constant(self.node.output, tensor)

    def buffer(self, name: str, tensor: Tensor, *, trained: bool = False) -> str:
        """A tensor that an attribute of the node holds, as a buffer of the module, or as a parameter."""
        return self._writer.held(f"{self.node.label}_{name}", tensor, trained)

    def body(self, graph: Graph, inputs: Sequence[Operand | None]) -> list[Operand]:
        """Write the nodes of a graph here, its inputs being these; returns what it computes."""
        return self._writer.body(graph, inputs)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Lines written inside are indented under `head`; UnsupportedError where Python takes no more of it."""
        writer = self._writer
        loops = not head.startswith(("if", "else"))
        if writer.depth > _DEEPEST or writer.loops + loops > _MOST_LOOPS:
            raise UnsupportedError("it lies deeper in branches and loops than Python takes")
        self.line(head)
        writer.depth += 1
        writer.loops += loops
        count = len(writer.lines)
        try:
            yield
            if len(writer.lines) == count:
                self.line("pass")
        finally:
            writer.depth -= 1
            writer.loops -= loops
