"""LLVM IR as text: types, constants, values, blocks and functions, each of which knows its text.

The names are those of llvmlite's module of the same kind. That keeps every instruction as an object and asks each for
its text in the end; here a line is text from the start, which takes a third of the time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final


class Type:
    """A type, equal to others of the same text."""

    __slots__ = ("text",)

    count: int = 1
    """The lanes of a value: more than one in a vector alone."""

    def __init__(self, text: str) -> None:
        self.text: Final = text

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __call__(self, value: Any) -> Constant:
        """A constant of this type."""
        return Constant(self, value)


class VoidType(Type):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("void")


class PointerType(Type):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("ptr")


class IntType(Type):
    __slots__ = ("_constants", "width")

    def __init__(self, width: int) -> None:
        super().__init__(f"i{width}")
        self.width: Final = width
        self._constants: Final[dict[int, Constant]] = {}

    def __call__(self, value: Any) -> Constant:
        """A constant of this type; equal numbers are one object, as the same few are in every kernel."""
        if type(value) is not int:
            return Constant(self, value)
        constant = self._constants.get(value)
        if constant is None:
            constant = Constant(self, value)
            if -_FEW <= value <= _FEW:
                self._constants[value] = constant
        return constant


_FEW = 1024
"""Numbers up to this, above and below zero, are kept as constants."""


class HalfType(Type):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("half")


class BFloatType(Type):
    """bfloat16, as instructions on it take it: elements in registers are their bits."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("bfloat")


class FloatType(Type):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("float")


class DoubleType(Type):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("double")


class VectorType(Type):
    __slots__ = ("count", "element")

    def __init__(self, element: Type, count: int) -> None:
        super().__init__(f"<{count} x {element.text}>")
        self.element: Final = element
        self.count = count


class ArrayType(Type):
    __slots__ = ()

    def __init__(self, element: Type, count: int) -> None:
        super().__init__(f"[{count} x {element.text}]")


class FunctionType:
    """The types of a function's parameters and of its result."""

    __slots__ = ("args", "return_type", "var_arg")

    def __init__(self, return_type: Type, args: Sequence[Type], var_arg: bool = False) -> None:
        self.return_type: Final = return_type
        self.args: Final = tuple(args)
        self.var_arg: Final = var_arg

    @property
    def args_text(self) -> str:
        return ", ".join([*(kind.text for kind in self.args), *(["..."] if self.var_arg else [])])


class Value:
    """The result of an instruction, or anything else that has a type and a text."""

    __slots__ = ("text", "type")

    number: int | None = None
    """The value of a constant integer, if it is far from overflow; else None."""

    def __init__(self, type_: Type, text: str) -> None:
        self.type = type_
        self.text = text

    def __str__(self) -> str:
        return f"{self.type.text} {self.text}"


class _Undefined:
    pass


Undefined: Final = _Undefined()
"""The value of a constant of which no bit matters."""


class Constant(Value):
    """A number, or one for each lane of a vector; None stands for zeros, `Undefined` for anything."""

    __slots__ = ("constant", "number")

    def __init__(self, type_: Type, constant: Any, text: str | None = None) -> None:
        """`text` is its text, where that is known."""
        self.type = type_
        self.constant: Final = constant
        width = type_.width if type(constant) is int and isinstance(type_, IntType) else 0
        self.number = constant if width and abs(constant) < 1 << (width - 1) // 2 else None
        self.text = text or (str(constant) if width > 1 else _text(type_, constant))


_PACKED = {"half": "e", "float": "f", "double": "d"}


def _text(type_: Type, value: Any) -> str:
    if value is None:
        return "zeroinitializer"
    if value is Undefined:
        return "undef"
    if isinstance(value, Constant):
        return value.text
    if isinstance(type_, VectorType):
        element = type_.element
        first = value[0]
        if all(number is first for number in value):
            return f"splat ({element.text} {_text(element, first)})"
        return f"<{', '.join([f'{element.text} {_text(element, number)}' for number in value])}>"
    if isinstance(type_, IntType):
        return str(int(value)) if type_.width > 1 else "true" if value else "false"
    kind = _PACKED[type_.text]
    (rounded,) = struct.unpack(kind, struct.pack(kind, value))
    return f"0x{struct.unpack('Q', struct.pack('d', rounded))[0]:016x}"


class Argument(Value):
    """A parameter of a function."""

    __slots__ = ("attributes",)

    def __init__(self, type_: Type, text: str) -> None:
        super().__init__(type_, text)
        self.attributes = ""

    def add_attribute(self, name: str) -> None:
        self.attributes += f" {name}"


class Access(Value):
    """A load, a store or a stack allocation: a line of its own, since its alignment may be set later."""

    __slots__ = ("align", "line")

    def __init__(self, type_: Type, text: str, line: str, align: int | None = None) -> None:
        super().__init__(type_, text)
        self.line: Final = line
        self.align = align

    def __str__(self) -> str:
        return self.line if self.align is None else f"{self.line}, align {self.align}"


class Phi(Value):
    """A value that depends on the block control came from."""

    __slots__ = ("incoming",)

    def __init__(self, type_: Type, text: str) -> None:
        super().__init__(type_, text)
        self.incoming: list[tuple[Value, Block]] = []

    def add_incoming(self, value: Value, block: Block) -> None:
        self.incoming.append((value, block))

    def __str__(self) -> str:
        sources = ", ".join(f"[{value.text}, %{block.name}]" for value, block in self.incoming)
        return f"{self.text} = phi {self.type.text} {sources}"


class Block:
    """Instructions that run one after another, and what comes next."""

    __slots__ = ("function", "lines", "name", "terminator")

    def __init__(self, function: Function, name: str) -> None:
        self.function: Final = function
        self.name: Final = name
        self.lines: list[str | Access | Phi] = []
        self.terminator: str | None = None


class Function(Value):
    """A function of a module; only declared, as long as it has no block."""

    __slots__ = ("args", "blocks", "function_type", "linkage", "module", "name", "name_count")

    def __init__(self, module: Module, function_type: FunctionType, name: str) -> None:
        super().__init__(PointerType(), f'@"{name}"')
        self.module: Final = module
        self.function_type: Final = function_type
        self.name: Final = name
        self.linkage = ""
        self.args: Final = tuple(Argument(kind, f"%a{place}") for place, kind in enumerate(function_type.args))
        self.blocks: list[Block] = []
        self.name_count = 0
        """How many values have names."""
        module.globals[name] = self

    @property
    def entry_basic_block(self) -> Block:
        return self.blocks[0]

    def append_basic_block(self, name: str = "block") -> Block:
        block = Block(self, f"{name}.{len(self.blocks)}")
        self.blocks.append(block)
        return block

    def __str__(self) -> str:
        returned = self.function_type.return_type.text
        if not self.blocks:
            return f"declare {returned} {self.text}({self.function_type.args_text})"
        parameters = ", ".join(f"{argument.type.text}{argument.attributes} {argument.text}" for argument in self.args)
        lines = [f"define {self.linkage} {returned} {self.text}({parameters}) {{".replace("  ", " ")]
        for block in self.blocks:
            lines.append(f"{block.name}:")
            lines += [f"  {line}" for line in block.lines]
            lines.append(f"  {block.terminator}")
        return "\n".join([*lines, "}"])


class Callee(Value):
    """A callee that is no function of the module: an address, or assembly."""

    __slots__ = ("function_type",)

    def __init__(self, function_type: FunctionType, text: str) -> None:
        super().__init__(PointerType(), text)
        self.function_type: Final = function_type


def inline_assembly(function_type: FunctionType, assembly: str, constraints: str) -> Callee:
    """Assembly that is called like a function, and has effects that LLVM does not see."""
    return Callee(function_type, f'asm sideeffect "{assembly}", "{constraints}"')


class GlobalVariable(Value):
    """A constant or variable of a module."""

    __slots__ = ("align", "global_constant", "initializer", "kind", "linkage")

    def __init__(self, module: Module, kind: Type, name: str) -> None:
        super().__init__(PointerType(), f'@"{name}"')
        self.kind: Final = kind
        self.linkage = ""
        self.global_constant = False
        self.initializer: Constant | None = None
        self.align = 0
        module.globals[name] = self

    def __str__(self) -> str:
        role = "constant" if self.global_constant else "global"
        aligned = f", align {self.align}" if self.align else ""
        return f"{self.text} = {self.linkage} {role} {self.initializer or self.kind.text}{aligned}".replace("  ", " ")


class Module:
    """Functions and what is global to them, by name."""

    __slots__ = ("fma", "globals", "half", "name", "triple", "vector", "weights")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.triple = ""
        self.fma = True
        """Whether the machine has an instruction that multiplies and adds, rounding once."""
        self.half = True
        """Whether it has instructions for float16."""
        self.vector = 0
        """The bytes of its registers for vectors; 0 where that is not known."""
        self.globals: dict[str, Function | GlobalVariable] = {}
        self.weights: dict[tuple[int, int], int] = {}
        """How likely the arms of branches are, numbered."""

    def declared(self, name: str, function_type: FunctionType) -> Function:
        """A function from elsewhere, declared once."""
        known = self.globals.get(name)
        return known if isinstance(known, Function) else Function(self, function_type, name)

    def __str__(self) -> str:
        notes = [
            f'!{number} = !{{!"branch_weights", i32 {yes}, i32 {no}}}' for (yes, no), number in self.weights.items()
        ]
        head = [f'target triple = "{self.triple}"'] if self.triple else []
        return "\n".join([*head, *map(str, self.globals.values()), *notes, ""])
