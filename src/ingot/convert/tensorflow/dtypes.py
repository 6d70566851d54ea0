"""Element types of TensorFlow, and the types of ONNX that hold the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ingot.dtypes import Array, DType
from ingot.errors import UnsupportedError

_OF = {
    tf.float32: DType.FLOAT32,
    tf.float64: DType.FLOAT64,
    tf.float16: DType.FLOAT16,
    tf.bfloat16: DType.BFLOAT16,
    tf.int64: DType.INT64,
    tf.int32: DType.INT32,
    tf.int16: DType.INT16,
    tf.int8: DType.INT8,
    tf.uint8: DType.UINT8,
    tf.uint16: DType.UINT16,
    tf.uint32: DType.UINT32,
    tf.uint64: DType.UINT64,
    tf.bool: DType.BOOL,
    tf.string: DType.STRING,
    tf.complex64: DType.COMPLEX64,
    tf.complex128: DType.COMPLEX128,
}


def dtype_of(dtype: Any) -> DType:
    """The ONNX element type of a TensorFlow dtype; UnsupportedError if there is none."""
    own = _OF.get(tf.as_dtype(dtype))
    if own is None:
        raise UnsupportedError(f"ONNX has no element type for {tf.as_dtype(dtype).name}")
    return own


def real_of(dtype: DType) -> DType:
    """The type of the parts of a complex number."""
    return {DType.COMPLEX64: DType.FLOAT32, DType.COMPLEX128: DType.FLOAT64}[dtype]


def to_array(tensor: Any) -> Array:
    """The elements of a tensor as an array; bytes as text, complex numbers as pairs along a last axis."""
    array = np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)
    if array.dtype.kind in "OS":
        return np.array([_text(item) for item in array.ravel()], object).reshape(array.shape)
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1)
    return array


def to_tensor(array: Array, dtype: Any) -> Any:
    """A tensor of `dtype` with the elements of an array that `to_array` could have given."""
    dtype = tf.as_dtype(dtype)
    if dtype.is_complex:
        return tf.constant(array[..., 0] + 1j * array[..., 1], dtype)
    return tf.constant(array.tolist() if dtype == tf.string else array, dtype, shape=np.shape(array))


def _text(item: object) -> str:
    if not isinstance(item, bytes):
        return str(item)
    try:
        return item.decode()
    except UnicodeDecodeError:
        raise UnsupportedError(f"the string {item!r} is no text in UTF-8, which ONNX's strings are") from None
