"""ConvTransposeWithDynamicPads: a transposed convolution whose pads are an input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from ingot import prim
from ingot.dims import Dim
from ingot.dtypes import Array
from ingot.ir.types import TensorType
from ingot.ops.contrib.domain import MICROSOFT
from ingot.ops.define import operator
from ingot.ops.facts import Fact, Inferred
from ingot.ops.nn.conv_transpose import conv_transpose
from ingot.ops.typesets import FLOATS_3, INT64, types

T: TypeAlias = Annotated[Array, types("T", FLOATS_3)]
Pads: TypeAlias = Annotated[Array, types("", INT64)]

_SAME = ("SAME_UPPER", "SAME_LOWER")


@operator("ConvTransposeWithDynamicPads", since=1, domain=MICROSOFT)
def conv_transpose_with_dynamic_pads(
    x: T,
    w: T,
    pads: Pads | None = None,
    b: T | None = None,
    /,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """The standard's ConvTranspose, with `pads` computed by the model; `auto_pad` of SAME_* comes before them."""
    cut = None if pads is None else pads.reshape(-1).tolist()
    return np.asarray(
        conv_transpose.evaluate(
            x,
            w,
            b,
            dilations=dilations,
            group=group,
            kernel_shape=kernel_shape,
            output_padding=output_padding,
            strides=strides,
            **_padding(auto_pad, cut),
        )
    )


@conv_transpose_with_dynamic_pads.infer
def infer(
    x: Fact,
    w: Fact,
    pads: Fact | None = None,
    b: Fact | None = None,
    /,
    *,
    group: int,
    auto_pad: str,
    **attributes: Any,
) -> Inferred:
    cut = _known(pads)
    named = {"group": group, "output_shape": None, **attributes}
    known = cut is not None or auto_pad in _SAME
    whole = conv_transpose.rules["infer"](x, w, b, **_padding(auto_pad, cut if known else None), **named)
    if known or whole is None or whole.shape is None:
        return None if whole is None else TensorType(whole.dtype, whole.shape)
    return TensorType(whole.dtype, (*whole.shape[:2], *_cropped(whole.shape[2:], _cuts(pads, len(whole.shape) - 2))))


@conv_transpose_with_dynamic_pads.lower
def lower(
    x: prim.Tensor,
    w: prim.Tensor,
    pads: prim.Tensor | None = None,
    b: prim.Tensor | None = None,
    /,
    *,
    facts: tuple[Fact, ...],
    auto_pad: str,
    **attributes: Any,
) -> prim.Tensor:
    cut = _known(facts[2] if len(facts) > 2 else None)
    known = cut is not None or auto_pad in _SAME
    padding = _padding(auto_pad, cut if known else None)
    y: prim.Tensor = conv_transpose.rules["lower"](x, w, b, output_shape=None, **padding, **attributes)
    if known:
        return y
    cuts = _cuts(facts[2], x.rank - 2)
    sizes = [size for size in _cropped(y.shape[2:], cuts) if size is not None]
    if len(sizes) < len(cuts):
        raise prim.Refused("pads unknown until a run")
    return prim.slice_(y, [0, 0, *(before for before, _ in cuts if before is not None)], [*y.shape[:2], *sizes])


conv_transpose_with_dynamic_pads.sized_by("pads")


def _cuts(pads: Fact | None, rank: int) -> list[tuple[Dim | None, Dim | None]]:
    """What is cut off before and after each axis, by pads of which some may be unknown."""
    elements = None if pads is None else pads.elements
    if elements is None or len(elements) != 2 * rank:
        return [(None, None)] * rank
    return list(zip(elements[:rank], elements[rank:], strict=True))


def _cropped(sizes: Sequence[Dim | None], cuts: Sequence[tuple[Dim | None, Dim | None]]) -> list[Dim | None]:
    return [
        None if size is None or before is None or after is None else size - before - after
        for size, (before, after) in zip(sizes, cuts, strict=True)
    ]


def _padding(auto_pad: str, pads: Sequence[int] | None) -> dict[str, Any]:
    """The attributes of ConvTranspose: it takes either `auto_pad` or `pads`, onnxruntime both."""
    if auto_pad in _SAME or not pads:
        return {"auto_pad": auto_pad, "pads": None}
    return {"auto_pad": "NOTSET" if auto_pad == "VALID" else auto_pad, "pads": pads}


def _known(pads: Fact | None) -> list[int] | None:
    """The pads, none of them if they are omitted; None if they are unknown until a run."""
    return [] if pads is None or not pads.present else pads.integers
