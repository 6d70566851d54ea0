"""Constant tensors: every element type, packed and plain, from arrays, buffers and loaders."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

import ingot
from ingot import DType, InputError, Tensor, UnsupportedError
from ingot.dtypes import Array, from_codes
from ingot.ir import SparseTensor

NUMERIC = [dtype for dtype in DType if dtype not in (DType.UNDEFINED, DType.STRING)]
TYPED = {"float_data", "int32_data", "int64_data", "double_data", "uint64_data"}


def sample(dtype: DType, count: int) -> Array:
    bits = np.random.default_rng(count).integers(0, 256, (count, max(1, dtype.bits // 8)), np.uint8)
    if dtype.bits < 8:
        return from_codes(bits[:, 0] & np.uint8((1 << dtype.bits) - 1), dtype)
    if dtype is DType.BOOL:
        return (bits[:, 0] & 1).astype(np.bool_)
    return np.ascontiguousarray(bits).view(dtype.numpy).reshape(-1)


def same_bits(left: Array, right: Array) -> bool:
    assert left.dtype == right.dtype
    if left.dtype.itemsize == 1 and left.dtype.kind not in "biu":
        mask = np.uint8((1 << DType.of(left.dtype).bits) - 1)
        return bool(((left.view(np.uint8) & mask) == (right.view(np.uint8) & mask)).all())
    return left.tobytes() == right.tobytes()


def decoded(proto: onnx.TensorProto) -> Tensor:
    """What ingot makes of a tensor in a model."""
    graph = onnx.helper.make_graph([], "g", [], [], [proto])
    model = ingot.decode(onnx.helper.make_model(graph).SerializeToString())
    (value,) = model.graph.initializers.values()
    assert isinstance(value.constant, Tensor)
    return value.constant


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 64, 65])
def test_packed_bytes_are_those_of_the_onnx_package(dtype: DType, count: int) -> None:
    array = sample(dtype, count)
    proto = numpy_helper.from_array(array, "t")
    assert proto.data_type == dtype
    tensor = Tensor(array)
    assert bytes(tensor.raw()) == proto.raw_data
    assert tensor.nbytes == len(proto.raw_data)
    assert same_bits(decoded(proto).numpy(), array)
    assert same_bits(Tensor.from_buffer(proto.raw_data, dtype, [count]).numpy(), array)


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
@pytest.mark.parametrize("count", [1, 5, 64])
def test_typed_fields_are_read_and_written_as_the_onnx_package_does(dtype: DType, count: int) -> None:
    array = sample(dtype, count)
    if dtype.is_float and dtype.bits >= 16:
        array = np.linspace(-4, 4, count).astype(dtype.numpy)
    if dtype.is_complex:
        array = np.ones(count, dtype.numpy) * dtype.numpy.type(1 + 2j)
    values = array.astype(np.float32) if dtype.bits < 8 or dtype.is_float else array
    if dtype is DType.FLOAT64:
        values = array
    proto = onnx.helper.make_tensor("t", int(dtype), [count], values.tolist())
    assert not proto.HasField("raw_data")
    tensor = decoded(proto)
    assert same_bits(tensor.numpy(), numpy_helper.to_array(proto).astype(dtype.numpy))
    graph = onnx.helper.make_graph([], "g", [], [], [proto])
    data = onnx.helper.make_model(graph).SerializeToString()
    assert ingot.encode(ingot.decode(data)) == data


def test_bit_patterns_of_sixteen_bit_floats_survive_the_typed_field() -> None:
    array = np.arange(0, 65536, 7, dtype=np.uint16).view(ml_dtypes.bfloat16)
    proto = onnx.TensorProto(name="t", data_type=int(DType.BFLOAT16), dims=[array.size])
    proto.int32_data.extend(array.view(np.uint16).tolist())
    assert same_bits(decoded(proto).numpy(), array)


def test_negative_integers_in_typed_fields() -> None:
    for dtype in (DType.INT8, DType.INT16, DType.INT32, DType.INT64):
        info = np.iinfo(dtype.numpy)
        values = [int(info.min), -1, 0, 1, int(info.max)]
        proto = onnx.helper.make_tensor("t", int(dtype), [5], values)
        assert decoded(proto).tolist() == values


def test_weights_are_views_of_the_bytes_given() -> None:
    array = np.arange(1000, dtype=np.float32)
    graph = onnx.helper.make_graph([], "g", [], [], [numpy_helper.from_array(array, "w")])
    data = onnx.helper.make_model(graph).SerializeToString()
    whole = np.frombuffer(data, np.uint8)
    tensor = ingot.decode(data).graph.initializers["w"].constant
    assert isinstance(tensor, Tensor)
    assert np.shares_memory(tensor.numpy(), whole)
    assert not tensor.numpy().flags.writeable


def test_strings_are_text_or_bytes() -> None:
    proto = onnx.helper.make_tensor("t", onnx.TensorProto.STRING, [2, 2], [b"a", "ä".encode(), b"", b"\xff"])
    tensor = decoded(proto)
    assert tensor.tolist() == [["a", "ä"], ["", b"\xff"]]
    assert tensor.strings() == [b"a", "ä".encode(), b"", b"\xff"]
    assert Tensor(["a", "b"]).dtype is DType.STRING
    with pytest.raises(InputError, match="no packed bytes"):
        tensor.raw()


def test_a_lazy_tensor_is_computed_once_and_checked() -> None:
    calls = []

    def load() -> Array:
        calls.append(1)
        return np.ones((2, 2), np.float32)

    tensor = Tensor.lazy(load, DType.FLOAT32, (2, 2), name="t")
    assert not tensor.is_loaded
    assert tensor.nbytes == 16
    assert not calls
    assert tensor.numpy().sum() == 4
    assert tensor.numpy() is tensor.numpy()
    assert calls == [1]
    wrong = Tensor.lazy(load, DType.FLOAT32, (3,), name="wrong")
    with pytest.raises(InputError, match="'wrong' is declared float32\\[3\\], its loader returned float32\\[2, 2\\]"):
        wrong.numpy()


def test_a_buffer_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(InputError, match="takes 16 bytes, the buffer has 15"):
        Tensor.from_buffer(bytes(15), DType.FLOAT32, (4,))


def test_objects_that_are_not_strings_are_refused() -> None:
    with pytest.raises(InputError, match="array of Python objects"):
        Tensor(np.array([object()]))
    with pytest.raises(InputError, match="no element type for numpy's datetime64"):
        Tensor(np.array(["2020-01-01"], "datetime64[D]"))


def test_big_endian_and_strided_arrays_are_stored_as_their_values() -> None:
    array = np.arange(12, dtype=">i4").reshape(3, 4)[:, ::-2]
    tensor = Tensor(array)
    assert tensor.dtype is DType.INT32
    assert tensor.tolist() == array.tolist()
    assert bytes(tensor.raw()) == array.astype("<i4").tobytes()


def test_a_tensor_of_more_axes_than_numpy_has_is_refused_on_use() -> None:
    tensor = Tensor.from_buffer(b"\x01", DType.INT8, [1] * 100)
    with pytest.raises(UnsupportedError, match="100 axes"):
        tensor.numpy()


def test_booleans_other_than_zero_and_one_are_true() -> None:
    assert Tensor.from_buffer(bytes([0, 1, 2, 255]), DType.BOOL, [4]).tolist() == [False, True, True, True]


@given(st.lists(st.integers(0, 14), max_size=8, unique=True), st.booleans())
def test_a_sparse_tensor_is_its_dense_one(places: list[int], coordinates: bool) -> None:
    dense = np.zeros((3, 5), np.float32)
    dense.reshape(-1)[places] = np.arange(1, len(places) + 1)
    flat = np.array(places, np.int64)
    indices = np.stack(np.unravel_index(flat, dense.shape), axis=1) if coordinates else flat
    values = Tensor(np.arange(1, len(places) + 1, dtype=np.float32))
    sparse = SparseTensor(values, Tensor(indices.astype(np.int64)), dense.shape)
    assert (sparse.dense().numpy() == dense).all()


@pytest.mark.parametrize("indices", [[15], [-1], [[0, 5]], [[-1, 0]], [[0, 0, 0]]])
def test_a_sparse_index_outside_the_shape_is_refused(indices: list[int]) -> None:
    sparse = SparseTensor(Tensor(np.ones(1, np.float32)), Tensor(np.array(indices)), (3, 5))
    with pytest.raises(InputError, match="outside its shape"):
        sparse.dense()


@pytest.mark.parametrize("name", ["float32", "float", "double", "bfloat16", "int4", "float8e4m3fn", "string", "bool"])
def test_element_types_are_found_by_name(name: str) -> None:
    assert DType.of(name).onnx_name == DType.of(DType.of(name).numpy).onnx_name


def test_a_name_that_is_no_element_type_is_answered_with_those_that_are() -> None:
    with pytest.raises(InputError, match="'float12' is not an element type"):
        DType.of("float12")
