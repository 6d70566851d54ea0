"""Jumps: which step follows one that has no code. Their operands are described in `codegen.jumps`."""

from __future__ import annotations

from ingot.codegen.job import JobLayout, StateLayout, StepLayout
from ingot.codegen.jumps import BEGIN, CHOOSE, GO, NEXT_RUN, JumpOperands, JumpSlots
from ingot.codegen.llvm import ir
from ingot.codegen.llvm.thread_pool.routine import Routine
from ingot.codegen.llvm.types import I8, I32, I64, PTR

NO_JUMP = -1
"""The result of `jump_from` for a step that has code."""


def emit_jump_from(module: ir.Module, step_at: ir.Function) -> ir.Function:
    """`jump_from(job, index)`: the step that follows a jump, that after the last one to end the job; or `NO_JUMP`."""
    target = _emit_target(module)
    b = Routine(module, "jump_from", [PTR, I64], I64)
    job, index = b.args
    step = b.call(step_at, [job, index])
    code = b.read_address(step, StepLayout.CODE)
    has_none = b.icmp_signed("==", code, ir.Constant(PTR, None))
    decide, none = (b.append_basic_block(name) for name in ("decide", "none"))
    b.cbranch(has_none, decide, none)
    b.position_at_end(none)
    b.ret(I64(NO_JUMP))
    b.position_at_end(decide)
    count = b.read(job, JobLayout.STEP_COUNT)
    slots = b.read_address(job, JobLayout.SLOTS)
    state = b.read_address(job, JobLayout.STATE)
    numbers = b.read_address(step, StepLayout.SLOT_NUMBERS)
    sizes = b.read_address(step, StepLayout.SIZES)
    b.ret(b.call(target, [slots, numbers, sizes, state, count]))
    return b.function


def _emit_target(module: ir.Module) -> ir.Function:
    """`jump_target(slots, slot numbers, sizes, state, step count)`: the step that follows a jump."""
    b = _Jump(module, "jump_target", [PTR, PTR, PTR, PTR, I64], I64)
    _, _, sizes, state, count = b.args
    ended, live, fail, go, choose, next_run, counted = (
        b.append_basic_block(name) for name in ("ended", "live", "fail", "go", "choose", "again", "counted")
    )
    over = b.or_(b.is_set(state, StateLayout.ERROR), b.is_set(state, StateLayout.STOP))
    b.cbranch(b.icmp_signed("!=", over, I32(0)), ended, live)
    b.position_at_end(ended)
    b.ret(count)

    b.position_at_end(live)
    kind = b.read(sizes, JumpOperands.KIND)
    b.target = b.read(sizes, JumpOperands.TARGET)
    b.otherwise = b.read(sizes, JumpOperands.OTHERWISE)
    b.first = b.slot_number(JumpSlots.COUNTER)
    b.switch(kind, {BEGIN: counted, NEXT_RUN: next_run, CHOOSE: choose, GO: go}, fail)

    b.position_at_end(fail)
    b.store_atomic(I32(1), b.word(state, StateLayout.ERROR, I32), "monotonic", 4)
    b.ret(count)
    b.position_at_end(go)
    b.ret(b.target)
    b.position_at_end(choose)
    holds = b.holds(b.first)
    b.ret(b.select(holds, b.target, b.otherwise))

    b.position_at_end(next_run)
    number = b.add(b.load(b.slot(b.first), I64), I64(1))
    swapped = b.swap_pairs()
    b.branch(counted)
    b.position_at_end(counted)
    run = b.phi(I64)
    run.add_incoming(I64(0), live)
    run.add_incoming(number, swapped)
    b.begin_run(run, fail)
    return b.function


class _Jump(Routine):
    """The parts of a jump, whose first slot and steps are read when these are set."""

    first: ir.Value
    target: ir.Value
    otherwise: ir.Value

    def slot_number(self, index: int | ir.Value) -> ir.Value:
        return self.read(self.args[1], index, I32)

    def slot_place(self, number: ir.Value) -> ir.Value:
        """The address of a slot in the table, which has 64 bits for each on every machine."""
        return self.word(self.args[0], self.sext(number, I64))

    def slot(self, number: ir.Value) -> ir.Value:
        """The address in a slot."""
        return self.load(self.slot_place(number), PTR)

    def holds(self, number: ir.Value) -> ir.Value:
        """Whether the bool at the address in a slot is true."""
        return self.icmp_signed("!=", self.load(self.slot(number), I8), I8(0))

    def swap_pairs(self) -> ir.Block:
        """Swap pairs of slots; returns the block that follows."""
        pairs = self.read(self.args[2], JumpOperands.PAIRS)
        before = self.block
        loop, swap, done = (self.append_basic_block(name) for name in ("pairs", "swap", "swapped"))
        self.branch(loop)
        self.position_at_end(loop)
        pair = self.phi(I64)
        self.cbranch(self.icmp_signed("<", pair, pairs), swap, done)
        self.position_at_end(swap)
        place = self.mul(pair, I64(2))
        one, other = (
            self.slot_place(self.slot_number(self.add(place, I64(JumpSlots.PAIRS + member)))) for member in range(2)
        )
        first, second = self.load(one, PTR), self.load(other, PTR)
        self.store(second, one)
        self.store(first, other)
        pair.add_incoming(I64(0), before)
        pair.add_incoming(self.add(pair, I64(1)), swap)
        self.branch(loop)
        self.position_at_end(done)
        return done

    def begin_run(self, number: ir.Value, fail: ir.Block) -> None:
        """Count a run of a loop and go to its steps, if its trips and its condition allow one more."""
        sizes, state = self.args[2:4]
        few, in_slot, in_operand, limited, ask, asked, on, done = (
            self.append_basic_block(name)
            for name in ("few", "trips_given", "trips_known", "limited", "ask", "asked", "on", "done")
        )
        runs = self.add(self.read(state, StateLayout.LOOP_RUNS), I64(1))
        self.write(state, StateLayout.LOOP_RUNS, runs)
        self.cbranch(self.icmp_signed(">", runs, self.read(sizes, JumpOperands.MAX_RUNS)), fail, few)

        self.position_at_end(few)
        self.store(number, self.slot(self.first))
        slot = self.slot_number(JumpSlots.TRIPS)
        self.cbranch(self.icmp_signed(">=", slot, I32(0)), in_slot, in_operand)
        self.position_at_end(in_slot)
        trips_of_slot = self.load(self.slot(slot), I64)
        self.branch(limited)
        self.position_at_end(in_operand)
        trips_known = self.read(sizes, JumpOperands.TRIPS)
        self.branch(limited)
        self.position_at_end(limited)
        trips = self.phi(I64)
        trips.add_incoming(trips_of_slot, in_slot)
        trips.add_incoming(trips_known, in_operand)
        self.cbranch(self.icmp_signed("<", number, trips), ask, done)

        self.position_at_end(ask)
        slot = self.slot_number(JumpSlots.GOING)
        self.cbranch(self.icmp_signed(">=", slot, I32(0)), asked, on)
        self.position_at_end(asked)
        self.cbranch(self.holds(slot), on, done)
        self.position_at_end(on)
        self.ret(self.target)
        self.position_at_end(done)
        self.ret(self.otherwise)
