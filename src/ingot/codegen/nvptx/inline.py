"""PTX inside of LLVM IR, for instructions that LLVM has no intrinsics for."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder

_LETTERS = {"i1": "b", "i16": "h", "i32": "r", "i64": "l", "ptr": "l", "float": "f"}


def ptx(
    b: Builder,
    text: str,
    inputs: Sequence[ir.Value] = (),
    outputs: Sequence[ir.Type] = (),
    tied: Sequence[ir.Value] = (),
) -> list[ir.Value]:
    """The outputs of instructions, which have effects that LLVM does not see; threads of a warp run them together.

    In the text `$0` and so on are the outputs, then the `tied` inputs, which are in the registers of the first outputs,
    then the other inputs.
    """
    letters = [f"={_LETTERS[kind.text]}" for kind in outputs]
    letters += [str(number) for number in range(len(tied))]
    letters += [_LETTERS[value.type.text] for value in inputs]
    arguments = [*tied, *inputs]
    returned: ir.Type = ir.VoidType()
    if outputs:
        fields = ", ".join(kind.text for kind in outputs)
        returned = outputs[0] if len(outputs) == 1 else ir.Type(f"{{{fields}}}")
    kind = ir.FunctionType(returned, [argument.type for argument in arguments])
    callee = ir.inline_assembly(kind, text, ",".join([*letters, "~{memory}"]))
    result = b.call(callee, arguments, attributes=" convergent nounwind")
    if len(outputs) <= 1:
        return [result][: len(outputs)]
    return [b.extract_value(result, number, kind) for number, kind in enumerate(outputs)]
