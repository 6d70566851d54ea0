"""Element types and those of numpy: some are of ml_dtypes, which is imported when one is asked for."""

from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

from ingot import DType, InputError

DEFINED = [dtype for dtype in DType if dtype is not DType.UNDEFINED]


@pytest.mark.parametrize("dtype", DEFINED)
def test_types_come_back_from_numpy_and_by_name(dtype: DType) -> None:
    assert DType.of(dtype.numpy) is dtype
    assert DType.of(dtype.label) is DType.of(dtype.onnx_name) is dtype
    if dtype is not DType.STRING:
        assert DType.of(dtype.numpy.newbyteorder(">")) is dtype
        assert dtype.numpy.itemsize == max(1, dtype.bits // 8)


@pytest.mark.parametrize(
    "program",
    [
        "assert DType.of('float8_e4m3fn') is DType.FLOAT8E4M3FN",
        "assert DType.of('bfloat16').numpy.name == 'bfloat16'",
        "import ml_dtypes; assert DType.of(ml_dtypes.int4) is DType.INT4",
        "import ml_dtypes, numpy; assert DType.of(numpy.zeros(2, ml_dtypes.bfloat16).dtype) is DType.BFLOAT16",
        "assert DType.INT2.bits == 2 and DType.of('int2') is DType.INT2 and 'ml_dtypes' not in sys.modules",
        "assert DType.of('float32').numpy.name == 'float32' and 'ml_dtypes' not in sys.modules",
    ],
)
def test_types_that_numpy_lacks_are_found_in_a_fresh_program(program: str) -> None:
    subprocess.run([sys.executable, "-c", f"import sys\nfrom ingot.dtypes import DType\n{program}"], check=True)


def test_a_type_of_ml_dtypes_that_onnx_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="no element type"):
        DType.of(np.dtype(ml_dtypes.float8_e3m4))
