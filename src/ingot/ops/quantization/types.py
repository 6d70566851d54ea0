"""The type sets of quantisation: what is quantised, what it is scaled by, and what it becomes."""

from __future__ import annotations

from ingot.dtypes import DType
from ingot.ops.typesets import FLOAT4, FLOAT6, FLOAT8, FLOAT8E8M0, INT2S, INT4S, INT8, INT32, UINT8, TypeNames, tensors

REAL = tensors(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
REAL_OR_INT32 = REAL | INT32
SCALE_24 = REAL | FLOAT8E8M0
BYTES = INT8 | UINT8
CODES_19 = BYTES | FLOAT8
CODES_21 = CODES_19 | INT4S | tensors(DType.INT16, DType.UINT16)
CODES_23 = CODES_21 | FLOAT4
CODES_25 = CODES_23 | INT2S
CODES_28 = CODES_25 | FLOAT6

CODES: dict[int, TypeNames] = {23: CODES_23, 25: CODES_25, 28: CODES_28}
