"""A builder for one function of the native thread pool, which reads and writes words of memory."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32, I64, PTR

VOID = ir.VoidType()


class Routine(Builder):
    """Appends to a new function of a module, from its entry on; `public` ones are called from Python."""

    def __init__(
        self, module: ir.Module, name: str, takes: Sequence[ir.Type], returns: ir.Type = VOID, public: bool = False
    ) -> None:
        function = ir.Function(module, ir.FunctionType(returns, takes), name)
        function.linkage = "" if public else "internal"
        super().__init__(function.append_basic_block("entry"))
        self.args = function.args

    def word(self, base: ir.Value, index: int | ir.Value, kind: ir.Type = I64) -> ir.Value:
        """Where the word of an index is, among words of a kind."""
        return self.gep(base, [I64(index) if isinstance(index, int) else index], source_etype=kind)

    def read(self, base: ir.Value, index: int | ir.Value, kind: ir.Type = I64) -> ir.Value:
        """The word of an index, among words of a kind."""
        return self.load(self.word(base, index, kind), kind)

    def read_address(self, base: ir.Value, index: int | ir.Value) -> ir.Value:
        """The address that a 64-bit word holds."""
        return self.load(self.word(base, index), PTR)

    def write(self, base: ir.Value, index: int | ir.Value, value: ir.Value) -> None:
        """Put a value into the word of an index, among words of its kind."""
        self.store(value, self.word(base, index, value.type))

    def is_set(self, base: ir.Value, index: int) -> ir.Value:
        """A 32-bit word that other threads may set at any time."""
        return self.load_atomic(self.word(base, index, I32), "monotonic", 4, typ=I32)
