"""A builder for the functions of a native run, which know objects of Python's: see `codegen.native_run`."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import VOID, Routine
from ingot.codegen.llvm.types import I8, I64, PTR
from ingot.codegen.native_run import FunctionTable, RunLayout

NOWHERE = ir.Constant(PTR, None)


class RunRoutine(Routine):
    """The parts of a native run."""

    def field(self, place: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
        """What an object has at an offset in bytes."""
        return self.load(self.gep(place, [I64(offset)], source_etype=I8), kind)

    def row(self, table: ir.Value, index: ir.Value, words: int) -> ir.Value:
        """A row of a table of so many words each."""
        return self.word(table, self.mul(index, I64(words)))

    def invoke(self, block: ir.Value, function: int, returns: ir.Type, arguments: Sequence[ir.Value]) -> ir.Value:
        """Call a function of the table."""
        table = self.read_address(block, RunLayout.FUNCTIONS)
        kind = ir.FunctionType(returns, [argument.type for argument in arguments])
        return self.call(ir.Callee(kind, self.read_address(table, function).text), arguments)

    def object(self, block: ir.Value, which: int) -> ir.Value:
        """An object of the table."""
        return self.read_address(self.read_address(block, RunLayout.FUNCTIONS), which)

    def reference(self, block: ir.Value, which: int) -> ir.Value:
        """A reference to an object of the table, for the caller."""
        referenced = self.object(block, which)
        self.invoke(block, FunctionTable.INCREF, VOID, [referenced])
        return referenced

    def require(self, condition: ir.Value, otherwise: ir.Block) -> None:
        """Go on only if a condition holds."""
        following = self.append_basic_block("holds")
        self.cbranch(condition, following, otherwise)
        self.position_at_end(following)

    def refusal(self) -> ir.Block:
        """A block that returns 0."""
        here, refused = self.block, self.append_basic_block("refused")
        self.position_at_end(refused)
        self.ret(I64(0))
        self.position_at_end(here)
        return refused
