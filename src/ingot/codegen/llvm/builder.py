"""A builder of LLVM IR with constant folding and common subexpression elimination within a block.

LLVM would do both, but writing and parsing the text takes longer than leaving it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from ingot.codegen.llvm.ir import (
    Access,
    Block,
    Callee,
    Constant,
    FloatType,
    Function,
    HalfType,
    IntType,
    Module,
    Phi,
    PointerType,
    Type,
    Value,
    VectorType,
    VoidType,
)

_PTR = PointerType()
_VOID = VoidType()
_HALF, _FLOAT = HalfType(), FloatType()
_COMPARED = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Builder:
    """Appends instructions to a block; integer arithmetic and addresses are folded, or emitted once in a block.

    Its methods have the names of LLVM's instructions, and of llvmlite's builder.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.function = block.function
        self._values: dict[tuple[Block, str], Value] = {}
        self._locals: dict[Block, dict[Value, Value]] = {}
        """What locals hold at the end of a block that is being written."""
        self._unsaved: dict[Block, dict[Value, Value]] = {}
        """Of these what is yet to be stored, when the block ends."""

    @property
    def module(self) -> Module:
        return self.function.module

    # --- blocks

    def append_basic_block(self, name: str = "block") -> Block:
        return self.function.append_basic_block(name)

    def position_at_end(self, block: Block) -> None:
        self.block = block

    @contextmanager
    def goto_block(self, block: Block) -> Iterator[None]:
        """What is emitted while it is open goes to a block, before its terminator."""
        before, self.block = self.block, block
        yield
        self.block = before

    def goto_entry_block(self) -> AbstractContextManager[None]:
        return self.goto_block(self.function.blocks[0])

    @contextmanager
    def counted(
        self, low: Value, high: Value, step: Value, goes_on: Callable[[], Value] | None = None
    ) -> Iterator[Value]:
        """A loop from `low` by `step` while below `high`, and while `goes_on` holds: its body is emitted meanwhile."""
        before = self.block
        head, body, end = (self.append_basic_block(name) for name in ("head", "body", "end"))
        self.branch(head)
        self.position_at_end(head)
        index = self.phi(low.type)
        index.add_incoming(low, before)
        inside = self.icmp_signed("<", index, high)
        self.cbranch(inside if goes_on is None else self.and_(inside, goes_on()), body, end)
        self.position_at_end(body)
        yield index
        index.add_incoming(self.add(index, step), self.block)
        self.branch(head)
        self.position_at_end(end)

    def branch(self, target: Block) -> None:
        self._end(f"br label %{target.name}")

    def cbranch(self, condition: Value, yes: Block, no: Block, likely: bool | None = None) -> None:
        line = f"br i1 {condition.text}, label %{yes.name}, label %{no.name}"
        if likely is not None:
            weights = self.module.weights
            number = weights.setdefault((99, 1) if likely else (1, 99), len(weights))
            line += f", !prof !{number}"
        self._end(line)

    def switch(self, value: Value, cases: Mapping[int, Block], otherwise: Block) -> None:
        arms = " ".join(f"{value.type.text} {case}, label %{block.name}" for case, block in cases.items())
        self._end(f"switch {value.type.text} {value.text}, label %{otherwise.name} [{arms}]")

    def ret(self, value: Value) -> None:
        self._end(f"ret {value.type.text} {value.text}")

    def ret_void(self) -> None:
        self._end("ret void")

    def _end(self, terminator: str) -> None:
        for place, value in self._unsaved.pop(self.block, {}).items():
            self.store(value, place)
        self._locals.pop(self.block, None)
        self.block.terminator = terminator

    @contextmanager
    def if_then(self, condition: Value, likely: bool | None = None) -> Iterator[None]:
        """What is emitted while it is open runs if a condition holds."""
        yes, end = (self.append_basic_block(name) for name in ("if", "endif"))
        self.cbranch(condition, yes, end, likely)
        with self._one_arm(yes, end):
            yield
        self.block = end

    @contextmanager
    def if_else(
        self, condition: Value, likely: bool | None = None
    ) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """Two context managers to open in turn: for what runs if a condition holds, and if it does not."""
        yes, no, end = (self.append_basic_block(name) for name in ("if", "else", "endif"))
        self.cbranch(condition, yes, no, likely)
        yield self._one_arm(yes, end), self._one_arm(no, end)
        self.block = end

    @contextmanager
    def _one_arm(self, begin: Block, end: Block) -> Iterator[None]:
        self.block = begin
        yield
        if self.block.terminator is None:
            self.branch(end)

    def phi(self, kind: Type) -> Phi:
        phi = Phi(kind, self._name())
        self.block.lines.append(phi)
        return phi

    # --- numbers

    def add(self, x: Value, y: Value) -> Value:
        known, other = x.number, y.number
        if known is not None and other is not None:
            return Constant(x.type, known + other)
        if known == 0 or other == 0:
            return y if known == 0 else x
        return self._once(x.type, f"add {x.type.text} {x.text}, {y.text}")

    def sub(self, x: Value, y: Value) -> Value:
        known, other = x.number, y.number
        if known is not None and other is not None:
            return Constant(x.type, known - other)
        if other == 0:
            return x
        return self._once(x.type, f"sub {x.type.text} {x.text}, {y.text}")

    def mul(self, x: Value, y: Value) -> Value:
        known, other = x.number, y.number
        if known is not None and other is not None:
            return Constant(x.type, known * other)
        if known == 0 or other == 0:
            return Constant(x.type, 0)
        if known == 1 or other == 1:
            return y if known == 1 else x
        return self._once(x.type, f"mul {x.type.text} {x.text}, {y.text}")

    def neg(self, x: Value) -> Value:
        return self.sub(Constant(x.type, None if isinstance(x.type, VectorType) else 0), x)

    def sdiv(self, x: Value, y: Value) -> Value:
        return self._two("sdiv", x, y)

    def udiv(self, x: Value, y: Value) -> Value:
        return self._two("udiv", x, y)

    def srem(self, x: Value, y: Value) -> Value:
        return self._two("srem", x, y)

    def urem(self, x: Value, y: Value) -> Value:
        return self._two("urem", x, y)

    def shl(self, x: Value, y: Value) -> Value:
        return self._two("shl", x, y)

    def lshr(self, x: Value, y: Value) -> Value:
        return self._two("lshr", x, y)

    def ashr(self, x: Value, y: Value) -> Value:
        return self._two("ashr", x, y)

    def and_(self, x: Value, y: Value) -> Value:
        return self._two("and", x, y)

    def or_(self, x: Value, y: Value) -> Value:
        return self._two("or", x, y)

    def xor(self, x: Value, y: Value) -> Value:
        return self._two("xor", x, y)

    def not_(self, x: Value) -> Value:
        ones = [-1] * x.type.count if isinstance(x.type, VectorType) else -1
        return self._two("xor", x, Constant(x.type, ones))

    def fadd(self, x: Value, y: Value) -> Value:
        return self._two("fadd", x, y)

    def fsub(self, x: Value, y: Value) -> Value:
        return self._two("fsub", x, y)

    def fmul(self, x: Value, y: Value) -> Value:
        return self._two("fmul", x, y)

    def fdiv(self, x: Value, y: Value) -> Value:
        return self._two("fdiv", x, y)

    def fneg(self, x: Value) -> Value:
        return self._new(x.type, f"fneg {x.type.text} {x.text}")

    # --- comparisons and choices

    def icmp_signed(self, sign: str, x: Value, y: Value) -> Value:
        return self._compared(f"icmp {'' if sign in ('==', '!=') else 's'}{_COMPARED[sign]}", x, y)

    def icmp_unsigned(self, sign: str, x: Value, y: Value) -> Value:
        return self._compared(f"icmp {'' if sign in ('==', '!=') else 'u'}{_COMPARED[sign]}", x, y)

    def fcmp_ordered(self, sign: str, x: Value, y: Value) -> Value:
        how = f"fcmp o{_COMPARED[sign]}" if sign in _COMPARED else f"fcmp {sign}"
        return self._compared(how, self._comparable(x), self._comparable(y))

    def fcmp_unordered(self, sign: str, x: Value, y: Value) -> Value:
        how = f"fcmp u{_COMPARED[sign]}" if sign in _COMPARED else f"fcmp {sign}"
        return self._compared(how, self._comparable(x), self._comparable(y))

    def _comparable(self, x: Value) -> Value:
        """Floats as they are compared: float16 as float32 on machines without it, on some of which LLVM never ends."""
        if self.module.half:
            return x
        if isinstance(x.type, VectorType):
            return self.fpext(x, VectorType(_FLOAT, x.type.count)) if x.type.element == _HALF else x
        return self.fpext(x, _FLOAT) if x.type == _HALF else x

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        kind = yes.type
        line = f"select {condition.type.text} {condition.text}, {kind.text} {yes.text}, {kind.text} {no.text}"
        return self._new(kind, line)

    # --- conversions

    def trunc(self, x: Value, kind: Type) -> Value:
        return self._converted("trunc", x, kind)

    def zext(self, x: Value, kind: Type) -> Value:
        return self._converted("zext", x, kind)

    def sext(self, x: Value, kind: Type) -> Value:
        return self._converted("sext", x, kind)

    def fptrunc(self, x: Value, kind: Type) -> Value:
        return self._converted("fptrunc", x, kind)

    def fpext(self, x: Value, kind: Type) -> Value:
        return self._converted("fpext", x, kind)

    def fptosi(self, x: Value, kind: Type) -> Value:
        return self._converted("fptosi", x, kind)

    def fptoui(self, x: Value, kind: Type) -> Value:
        return self._converted("fptoui", x, kind)

    def sitofp(self, x: Value, kind: Type) -> Value:
        return self._converted("sitofp", x, kind)

    def uitofp(self, x: Value, kind: Type) -> Value:
        return self._converted("uitofp", x, kind)

    def bitcast(self, x: Value, kind: Type) -> Value:
        return self._converted("bitcast", x, kind)

    def ptrtoint(self, x: Value, kind: Type) -> Value:
        return self._converted("ptrtoint", x, kind)

    def inttoptr(self, x: Value, kind: Type) -> Value:
        return self._converted("inttoptr", x, kind)

    def addrspacecast(self, x: Value, kind: Type) -> Value:
        return self._converted("addrspacecast", x, kind)

    # --- memory

    def alloca(self, kind: Type) -> Access:
        name = self._name()
        return self._access(Access(_PTR, name, f"{name} = alloca {kind.text}"))

    def load(self, place: Value, typ: Type, align: int | None = None) -> Access:
        name = self._name()
        return self._access(Access(typ, name, f"{name} = load {typ.text}, ptr {place.text}", align))

    def load_atomic(self, place: Value, ordering: str, align: int, typ: Type) -> Value:
        return self._new(typ, f"load atomic {typ.text}, ptr {place.text} {ordering}, align {align}")

    def store_atomic(self, value: Value, place: Value, ordering: str, align: int) -> None:
        line = f"store atomic {value.type.text} {value.text}, ptr {place.text} {ordering}, align {align}"
        self.block.lines.append(line)

    def atomic_rmw(self, how: str, place: Value, value: Value, ordering: str) -> Value:
        """The value before `how` (`add`, `and`, `or` ...) combined it with another."""
        return self._new(value.type, f"atomicrmw {how} ptr {place.text}, {value.type.text} {value.text} {ordering}")

    def cmpxchg(self, place: Value, expected: Value, new: Value, ordering: str, failordering: str) -> Value:
        """Whether the value was `expected`, and so was replaced by `new`."""
        kind = expected.type.text
        line = f"cmpxchg ptr {place.text}, {kind} {expected.text}, {kind} {new.text} {ordering} {failordering}"
        pair = self._new(_VOID, line)
        return self._new(IntType(1), f"extractvalue {{ {kind}, i1 }} {pair.text}, 1")

    def fence(self, ordering: str) -> None:
        self.block.lines.append(f"fence {ordering}")

    def store(self, value: Value, place: Value, align: int | None = None) -> Access:
        line = f"store {value.type.text} {value.text}, ptr {place.text}"
        return self._access(Access(_VOID, "", line, align))

    def load_local(self, place: Value, typ: Type) -> Value:
        """What a stack slot holds that only `store_local` stores to: loaded once in a block, if it is not known."""
        if self.block.terminator is not None:
            return self.load(place, typ)
        values = self._locals.setdefault(self.block, {})
        value = values.get(place)
        if value is None:
            value = values[place] = self.load(place, typ)
        return value

    def store_local(self, value: Value, place: Value) -> None:
        """Store to a stack slot that only `load_local` loads from: at the end of the block, the last value of all."""
        if self.block.terminator is not None:
            self.store(value, place)
            return
        self._locals.setdefault(self.block, {})[place] = value
        self._unsaved.setdefault(self.block, {})[place] = value

    def gep(self, place: Value, indices: Sequence[Value], source_etype: Type) -> Value:
        if len(indices) == 1 and indices[0].number == 0:
            return place
        operands = ", ".join([f"{index.type.text} {index.text}" for index in indices])
        line = f"getelementptr {source_etype.text}, ptr {place.text}, {operands}"
        for index in indices:
            if index.type.count > 1:
                return self._new(VectorType(_PTR, index.type.count), line)
        return self._once(_PTR, line)

    # --- vectors and calls

    def insert_element(self, vector: Value, value: Value, place: Value) -> Value:
        line = f"insertelement {vector.type.text} {vector.text}, {value.type.text} {value.text}, {place}"
        return self._new(vector.type, line)

    def extract_element(self, vector: Value, place: Value) -> Value:
        assert isinstance(vector.type, VectorType)
        return self._new(vector.type.element, f"extractelement {vector.type.text} {vector.text}, {place}")

    def extract_value(self, struct: Value, place: int, kind: Type) -> Value:
        """A field of a struct, which is of type `kind`."""
        return self._new(kind, f"extractvalue {struct.type.text} {struct.text}, {place}")

    def shuffle_vector(self, x: Value, y: Value, mask: Value) -> Value:
        assert isinstance(x.type, VectorType)
        assert isinstance(mask.type, VectorType)
        kind = VectorType(x.type.element, mask.type.count)
        line = f"shufflevector {x.type.text} {x.text}, {y.type.text} {y.text}, {mask.type.text} {mask.text}"
        return self._new(kind, line)

    def call(
        self, function: Function | Callee, arguments: Sequence[Value], flags: str = "", attributes: str = ""
    ) -> Value:
        """A call with attributes; `flags` are what is not asked of floating-point arithmetic, each before a space."""
        kind = function.function_type.return_type
        operands = ", ".join([f"{argument.type.text} {argument.text}" for argument in arguments])
        how = f"{kind.text} ({function.function_type.args_text})" if function.function_type.var_arg else kind.text
        line = f"call {flags}{how} {function.text}({operands}){attributes}"
        if not isinstance(kind, VoidType):
            return self._new(kind, line)
        self.block.lines.append(line)
        return Value(kind, "")

    def move_words(self, to: Value, source: Value, count: Value) -> None:
        """Copy words of 8 bytes by the instruction of x86 for strings of any length."""
        operands = ", ".join(f"{value.type.text} {value.text}" for value in (count, to, source))
        places = "={cx},={di},={si},0,1,2,~{memory},~{dirflag},~{fpsr},~{flags}"
        self.block.lines.append(
            f'{self._name()} = call {{i64, ptr, ptr}} asm sideeffect "rep movsq", "{places}"({operands})'
        )

    # --- lines

    def _name(self) -> str:
        self.function.name_count += 1
        return f"%v{self.function.name_count}"

    def _new(self, kind: Type, line: str) -> Value:
        function = self.function
        function.name_count += 1
        name = f"%v{function.name_count}"
        self.block.lines.append(f"{name} = {line}")
        return Value(kind, name)

    def _once(self, kind: Type, line: str) -> Value:
        """The value of a line: of an equal one before it in this block, or of this one."""
        key = (self.block, line)
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = self._new(kind, line)
        return value

    def _access(self, access: Access) -> Access:
        self.block.lines.append(access)
        return access

    def _two(self, name: str, x: Value, y: Value) -> Value:
        return self._new(x.type, f"{name} {x.type.text} {x.text}, {y.text}")

    def _compared(self, how: str, x: Value, y: Value) -> Value:
        bit = IntType(1)
        kind = VectorType(bit, x.type.count) if isinstance(x.type, VectorType) else bit
        return self._new(kind, f"{how} {x.type.text} {x.text}, {y.text}")

    def _converted(self, how: str, x: Value, kind: Type) -> Value:
        if x.type == kind:
            return x
        return self._new(kind, f"{how} {x.type.text} {x.text} to {kind.text}")
