"""The precisions that a session may run the products of a float32 model in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ingot.errors import InputError, nearest

Precision: TypeAlias = Literal["bf16", "fp16", "int8-dynamic"]

PRECISIONS: dict[Precision, str] = {
    "bf16": "both operands in bfloat16, summed in float32",
    "fp16": "weights in float16, summed in float32",
    "int8-dynamic": "weights in int8, activations in uint8 by the range of each run, summed in int32",
}
"""What each name means for a product with constant weights; everything else stays in float32."""


def refuse_precision(precision: str | None) -> None:
    """InputError if there is no such precision; None stands for float32."""
    if precision is not None and precision not in PRECISIONS:
        message = f"there is no precision '{precision}'; there are {', '.join(PRECISIONS)}"
        raise InputError(message, hint=nearest(str(precision), PRECISIONS) or "leave it out for float32")
