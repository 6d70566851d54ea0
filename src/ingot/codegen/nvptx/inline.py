"""PTX inside of LLVM IR, for instructions that LLVM has no intrinsics for."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.codegen.llvm import ir
from ingot.codegen.llvm.builder import Builder
from ingot.codegen.llvm.types import I32

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


def computed_here(b: Builder, value: ir.Value) -> ir.Value:
    """A value that LLVM knows nothing of, from here on; it stays as it is where it is not of whole words.

    LLVM moves a load down to where its value is used, and computes what is the same at two places once, however far
    these are apart: a thread has no registers for that.
    """
    count, kind = value.type.count, value.type
    words = _BITS.get((kind.element if isinstance(kind, ir.VectorType) else kind).text, 0) * count // 32
    if words == 0:
        return value
    together = ir.VectorType(I32, words)
    before = b.bitcast(value, together)
    own = ptx(b, "", [], [I32] * words, [b.extract_element(before, I32(number)) for number in range(words)])
    after: ir.Value = ir.Constant(together, ir.Undefined)
    for number, word in enumerate(own):
        after = b.insert_element(after, word, I32(number))
    return b.bitcast(after, kind)


_BITS = {"i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}
