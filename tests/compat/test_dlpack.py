"""Tensors handed over by DLPack."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ingot.compat.onnxruntime as ort
from ingot.compat.onnxruntime.capi import onnxruntime_pybind11_state as state


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.uint8, np.float16, ml_dtypes.bfloat16])
def test_a_capsule_shares_the_memory_of_a_tensor_and_its_type(dtype: Any) -> None:
    array = np.array([[1, 0, 1], [0, 1, 1]], dtype)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    for capsule in (value.to_dlpack(), value.__dlpack__(), value):
        taken = ort.OrtValue.from_dlpack(capsule)
        assert taken.data_ptr() == value.data_ptr()
        assert taken.numpy().dtype == array.dtype
        assert taken.shape() == [2, 3]
    taken.numpy()[0, 0] = 0
    assert not array[0, 0]
    assert value.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0), (1, 8, 0, 128)])
def test_tensors_without_elements_are_handed_over(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, np.float32)
    assert ort.OrtValue.from_dlpack(array.__dlpack__()).shape() == list(shape)
    assert ort.OrtValue.from_dlpack(ort.OrtValue.ortvalue_from_numpy(array)).shape() == list(shape)


def test_bytes_are_booleans_where_the_caller_knows() -> None:
    array = np.array([1, 0], np.uint8)
    assert state.is_dlpack_uint8_tensor(array.__dlpack__())
    assert not state.is_dlpack_uint8_tensor(np.zeros(2, np.int8).__dlpack__())
    assert ort.OrtValue.from_dlpack(array.__dlpack__(), True).numpy().tolist() == [True, False]
    assert ort.OrtValue.from_dlpack(array.__dlpack__()).numpy().tolist() == [1, 0]


def test_the_memory_lives_as_long_as_either_side() -> None:
    value = ort.OrtValue.from_dlpack(np.arange(1000, dtype=np.float32))
    gc.collect()
    assert value.numpy().sum() == 499500
    capsule = ort.OrtValue.ortvalue_from_numpy(np.arange(1000, dtype=np.float32)).to_dlpack()
    gc.collect()
    assert ort.OrtValue.from_dlpack(capsule).numpy().sum() == 499500


def test_what_is_read_only_is_handed_over_too() -> None:
    array = np.arange(3.0)
    array.flags.writeable = False
    assert ort.OrtValue.from_dlpack(ort.OrtValue.ortvalue_from_numpy(array)).numpy().tolist() == [0, 1, 2]


def test_what_cannot_be_taken_is_refused() -> None:
    capsule = np.zeros(2).__dlpack__()
    ort.OrtValue.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="used up"):
        ort.OrtValue.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="no DLPack capsule"):
        ort.OrtValue.from_dlpack("text")

    class OnTheGpu:
        def __dlpack__(self) -> Any:
            raise AssertionError("never asked for")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

    with pytest.raises(RuntimeError, match="only tensors of the cpu"):
        ort.OrtValue.from_dlpack(OnTheGpu())
    with pytest.raises(RuntimeError, match="no streams"):
        ort.OrtValue.ortvalue_from_numpy(np.zeros(2)).__dlpack__(stream=3)


def test_a_vector_of_values_hands_each_over() -> None:
    vector = state.OrtValueVector()
    vector.reserve(2)
    vector.push_back(ort.OrtValue.ortvalue_from_numpy(np.array([1, 2], np.float32)))
    vector.push_back(np.array([1, 0], np.uint8).__dlpack__(), True)
    vector.shrink_to_fit()
    assert (len(vector), vector.element_type_at(0), vector.bool_tensor_indices()) == (2, 1, [1])
    assert ort.OrtValue.from_dlpack(vector.dlpack_at(0)).numpy().tolist() == [1, 2]
    assert [value.numpy().tolist() for value in vector.to_dlpacks(ort.OrtValue.from_dlpack)] == [[1, 2], [True, False]]
    assert len(vector.to_dlpacks(None)) == 2


def test_an_ortvalue_is_an_array_to_numpy() -> None:
    value = ort.OrtValue.ortvalue_from_numpy(np.array([1, 2], np.float32))
    assert np.asarray(value).ctypes.data == value.data_ptr()
    assert np.asarray(value, np.float32).ctypes.data == value.data_ptr()
    assert np.array(value).ctypes.data != value.data_ptr()
    assert np.asarray(value, np.float64).tolist() == [1, 2]
