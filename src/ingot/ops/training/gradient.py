"""Gradient: the derivative of one value of the graph by others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from ingot.dtypes import Array
from ingot.errors import CheckError
from ingot.ops.define import Heterogeneous, Runtime, operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.typesets import ALL_3, FLOATS_3, types

T1: TypeAlias = Annotated[Array, types("T1", ALL_3)]
T2: TypeAlias = Annotated[tuple[Annotated[Array, types("T2", FLOATS_3)], ...], Heterogeneous()]


@operator("Gradient", since=1, domain="ai.onnx.preview.training")
def gradient(
    *inputs: Annotated[T1, Heterogeneous()],
    xs: Sequence[str],
    y: str,
    zs: Sequence[str] | None = None,
    runtime: Runtime,
) -> T2:
    """The derivative of the value named `y` by each of those named `xs`, at the inputs: `xs`, then `zs`.

    `y` is computed anew from these, by the nodes of the graph around this one. Of a `y` of several elements it is the
    derivative of their sum. UnsupportedError if one of those nodes has no derivative.
    """
    return tuple(runtime.gradient(xs, y, dict(zip((*xs, *(zs or ())), inputs, strict=True))))


@gradient.infer
def infer(*inputs: Fact, xs: Sequence[str], y: str, zs: Sequence[str] | None) -> tuple[Inferred, ...]:
    named = len(xs) + len(zs or ())
    if len(inputs) != named:
        raise CheckError(f"there are {len(inputs)} inputs for {named} names in xs and zs")
    return tuple(x.type for x in inputs[: len(xs)])
