"""OrtValue, SparseTensor, devices and the enumerations."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ingot.compat.onnxruntime as ort

CPU = ort.OrtDevice.make("cpu", 0)


def test_an_ortvalue_shares_the_memory_of_its_array() -> None:
    array = np.zeros((2, 3), np.float32)
    value = ort.OrtValue.ortvalue_from_numpy(array)
    array[0, 0] = 5
    assert value.numpy()[0, 0] == 5
    assert value.data_ptr() == array.ctypes.data
    value.update_inplace(np.ones((2, 3), np.float32))
    assert array.sum() == 6
    for wrong in (np.ones((2, 2), np.float32), np.ones((2, 3))):
        with pytest.raises(RuntimeError, match="does not match the size of the OrtValue"):
            value.update_inplace(wrong)


def test_an_ortvalue_of_a_tensor_describes_itself() -> None:
    value = ort.OrtValue.ortvalue_from_numpy(np.zeros((2, 3), np.float32))
    assert (value.shape(), value.data_type(), value.element_type()) == ([2, 3], "tensor(float)", 1)
    assert (value.device_name(), value.tensor_size_in_bytes()) == ("cpu", 24)
    assert value.has_value()
    assert value.is_tensor()
    assert not value.is_sparse_tensor()
    assert not value.is_tensor_sequence()
    assert value._ortvalue is value._get_c_value() is value


def test_an_array_that_is_not_contiguous_is_copied() -> None:
    value = ort.OrtValue.ortvalue_from_numpy(np.arange(6).reshape(2, 3).T)
    assert value.numpy().flags.c_contiguous
    assert value.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_ortvalues_are_made_of_shapes_and_of_types_numpy_has_no_name_for() -> None:
    assert ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32).data_type() == "tensor(float)"
    assert ort.OrtValue.ortvalue_from_shape_and_type((4,), 16).numpy().dtype == ml_dtypes.bfloat16
    bits = np.array([0x3F80], np.uint16)
    assert ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16).numpy().astype(float).tolist() == [1.0]
    with pytest.raises(RuntimeError, match="4 bytes"):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, np.float32), 16)
    with pytest.raises(RuntimeError, match="non-string"):
        ort.OrtValue.ortvalue_from_shape_and_type([2], str)
    with pytest.raises(RuntimeError, match="list"):
        ort.OrtValue.ortvalue_from_numpy([1.0])  # type: ignore[arg-type]


def test_ortvalues_are_exchanged_by_dlpack() -> None:
    array = np.arange(3, dtype=np.float32)
    value = ort.OrtValue.from_dlpack(array)
    assert value.numpy().ctypes.data == array.ctypes.data
    assert np.from_dlpack(value).tolist() == [0, 1, 2]
    assert value.__dlpack_device__() == (1, 0)
    assert ort.OrtValue.from_dlpack(np.ones(2, np.uint8), is_bool_tensor=True).data_type() == "tensor(bool)"


def test_ortvalues_hold_sequences_maps_and_nothing() -> None:
    sequence = ort.OrtValue([np.zeros(2, np.float32)])
    assert sequence.is_tensor_sequence()
    assert sequence.data_type() == "seq(tensor(float))"
    with pytest.raises(RuntimeError, match="only a tensor"):
        sequence.numpy()
    assert ort.OrtValue({"a": 1.0}).data_type() == "map(string,tensor(float))"
    assert not ort.OrtValue(None).has_value()


def test_other_devices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="only the cpu"):
        ort.OrtValue.ortvalue_from_numpy(np.zeros(2), "cuda", 0)
    with pytest.raises(Exception, match="Unsupported device type: abacus"):
        ort.OrtDevice.make("abacus", 0)


def test_tensors_are_copied_into_each_other() -> None:
    source = ort.OrtValue.ortvalue_from_numpy(np.ones(3))
    target = ort.OrtValue.ortvalue_from_numpy(np.zeros(3))
    ort.copy_tensors([source], [target])
    assert target.numpy().tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="1 tensors cannot be copied to 0"):
        ort.copy_tensors([source], [])


def test_sparse_tensors_by_coordinates() -> None:
    sparse = ort.SparseTensor.sparse_coo_from_numpy([3, 3], np.array([1, 2], np.float32), [1, 5], CPU)
    assert (sparse.dense_shape(), sparse.data_type(), sparse.device_name()) == ([3, 3], "sparse_tensor(float)", "cpu")
    assert sparse.format() == ort.OrtSparseFormat.ORT_SPARSE_COO
    assert sparse.values().tolist() == [1, 2]
    assert sparse.as_coo_view().indices().tolist() == [1, 5]
    for view in (sparse.as_csrc_view, sparse.as_blocksparse_view):
        with pytest.raises(RuntimeError, match="ORT_SPARSE_COO"):
            view()
    value = ort.OrtValue.ort_value_from_sparse_tensor(sparse)
    assert value.is_sparse_tensor()
    assert value.as_sparse_tensor() is sparse
    assert (value.shape(), value.element_type(), value.data_type()) == ([3, 3], 1, "sparse_tensor(float)")
    with pytest.raises(RuntimeError, match="no sparse tensor"):
        ort.OrtValue.ortvalue_from_numpy(np.zeros(2)).as_sparse_tensor()
    with pytest.raises(RuntimeError, match="to_cuda"):
        sparse.to_cuda(CPU)


@pytest.mark.parametrize("indices", [[1], [1, 9], [-1, 2], [[0, 1], [3, 0]], [[0], [1]]])
def test_coordinates_outside_the_shape_are_refused(indices: list[int]) -> None:
    with pytest.raises(ValueError, match="ind"):
        ort.SparseTensor.sparse_coo_from_numpy([3, 3], np.ones(2, np.float32), indices, CPU)


def test_sparse_tensors_by_rows_and_by_blocks() -> None:
    rows = ort.SparseTensor.sparse_csr_from_numpy([3, 3], np.ones(2, np.float32), [1, 2], [0, 1, 2, 2], CPU)
    assert rows.as_csrc_view().inner().tolist() == [1, 2]
    assert rows.as_csrc_view().outer().tolist() == [0, 1, 2, 2]
    with pytest.raises(RuntimeError, match="ORT_SPARSE_CSRC"):
        rows.as_coo_view()
    with pytest.raises(ValueError, match="3 outer"):
        ort.SparseTensor.sparse_csr_from_numpy([3, 3], np.ones(2, np.float32), [1, 2], [0, 1, 2], CPU)
    blocks = ort.SparseTensor.blocksparse_from_numpy([4, 4], np.ones((1, 2, 2), np.float32), [[0], [1]], CPU)
    assert blocks.as_blocksparse_view().indices().tolist() == [[0], [1]]


def test_devices_and_memory_are_described() -> None:
    assert (CPU.device_type(), CPU.device_id(), CPU.device_mem_type(), CPU.device_vendor_id()) == (0, 0, 0, 0)
    cuda = ort.OrtDevice.make("cuda", 1)
    assert (cuda.device_type(), cuda.device_id(), cuda.device_vendor_id()) == (1, 1, 0x10DE)
    same = ort.OrtDevice(ort.OrtDevice.cuda(), ort.OrtDevice.default_memory(), 1)
    assert (same.device_type(), same.device_id()) == (1, 1)
    assert ort.OrtDevice(same).device_id() == 1
    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    assert (memory.name, memory.device_id, memory.mem_type) == ("Cpu", 0, ort.OrtMemType.DEFAULT)
    assert memory.allocator_type == ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    assert ort.OrtArenaCfg(7, -1, -1, -1).max_mem == 7
    assert ort.OrtArenaCfg({"max_mem": 8}).max_mem == 8
    with pytest.raises(RuntimeError, match="nosuch"):
        ort.OrtArenaCfg({"nosuch": 8})


def test_enumerations_are_equal_to_their_numbers_and_shown_by_name() -> None:
    level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert (level, int(level), level.name, str(level)) == (
        99,
        99,
        "ORT_ENABLE_ALL",
        "GraphOptimizationLevel.ORT_ENABLE_ALL",
    )
    assert [int(level) for level in ort.GraphOptimizationLevel] == [0, 1, 2, 3, 99]
    assert int(ort.ExecutionMode.ORT_PARALLEL) == 1
    assert int(ort.ExecutionOrder.MEMORY_EFFICIENT) == 2
