"""Values outside a model, against the onnx package and its test data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ingot
from ingot import DecodeError, DType, InputError, Tensor, TensorType
from ingot.format.values import decode_value, encode_value
from ingot.ir import MapType, OptionalType, SequenceType

FLOATS = TensorType(DType.FLOAT32)
DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


def plain(item: Any) -> Any:
    """Tensors as lists, for comparison."""
    if isinstance(item, Tensor):
        return item.tolist()
    if isinstance(item, list):
        return [plain(part) for part in item]
    if isinstance(item, dict):
        return {key: plain(part) for key, part in item.items()}
    return item


def test_every_file_of_test_data_is_read_as_the_onnx_package_reads_it() -> None:
    count = 0
    for path in sorted(DATA.glob("**/input_*.pb")) + sorted(DATA.glob("**/output_*.pb")):
        model = ingot.load(next(path.parent.parent.glob("*.onnx")))
        kind, index = path.stem.split("_")
        value = (model.graph.inputs if kind == "input" else model.graph.outputs)[int(index)]
        data = path.read_bytes()
        assert value.type is not None
        found = decode_value(data, value.type)
        if isinstance(value.type, TensorType):
            assert isinstance(found, Tensor)
            expected = numpy_helper.to_array(onnx.TensorProto.FromString(data))
            assert found.numpy().dtype == expected.dtype
            np.testing.assert_array_equal(found.numpy(), expected)
            assert encode_value(found, value.type) == data
            count += 1
    assert count > 200


def test_a_sequence_is_a_list() -> None:
    arrays = [np.ones(2, np.float32), np.zeros((3, 1), np.float32)]
    data = numpy_helper.from_list(arrays, "s").SerializeToString()
    found = decode_value(data, SequenceType(FLOATS))
    assert plain(found) == [array.tolist() for array in arrays]
    again = onnx.SequenceProto.FromString(encode_value(found, SequenceType(FLOATS)))
    assert [array.tolist() for array in numpy_helper.to_list(again)] == plain(found)


@pytest.mark.parametrize(("keys", "dtype"), [([1, -2], DType.INT64), (["a", "ä"], DType.STRING)])
def test_a_map_is_a_dictionary(keys: list[Any], dtype: DType) -> None:
    items = {key: np.full(2, index, np.float32) for index, key in enumerate(keys)}
    type_ = MapType(dtype, FLOATS)
    values = {key: Tensor(array) for key, array in items.items()}
    data = encode_value(values, type_)
    assert plain(decode_value(data, type_)) == {key: array.tolist() for key, array in items.items()}
    proto = onnx.MapProto.FromString(data)
    assert proto.key_type == dtype
    assert len(proto.values.tensor_values) == 2


def test_an_optional_is_a_value_or_none() -> None:
    type_ = OptionalType(SequenceType(FLOATS))
    for item in (None, [], [Tensor(np.ones(2, np.float32))]):
        data = encode_value(item, type_)
        assert plain(decode_value(data, type_)) == plain(item)
        onnx.OptionalProto.FromString(data)


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(InputError, match=r"a list is not a value of type float32\[...\]"):
        encode_value([], FLOATS)
    with pytest.raises(DecodeError, match="in value"):
        decode_value(b"\xff\xff", SequenceType(FLOATS))
    with pytest.raises(DecodeError, match="2 keys and 0 values make no map"):
        decode_value(b"\x18\x01\x18\x02", MapType(DType.INT64, FLOATS))
