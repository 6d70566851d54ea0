"""The messages of the ONNX format at IR version 14, as tables of their fields."""

from __future__ import annotations

from ingot.format.schema import Field, Kind, Message

_S, _M, _I, _B, _F, _D, _U = Kind.STRING, Kind.MESSAGE, Kind.INT, Kind.BYTES, Kind.FLOAT, Kind.DOUBLE, Kind.UINT


def _one(number: int, name: str, kind: Kind) -> Field:
    return Field(number, name, kind)


def _many(number: int, name: str, kind: Kind, packed: bool = False) -> Field:
    return Field(number, name, kind, repeated=True, packed=packed)


MODEL = Message(
    "ModelProto",
    _one(1, "ir_version", _I),
    _one(2, "producer_name", _S),
    _one(3, "producer_version", _S),
    _one(4, "domain", _S),
    _one(5, "model_version", _I),
    _one(6, "doc_string", _S),
    _one(7, "graph", _M),
    _many(8, "opset_import", _M),
    _many(14, "metadata_props", _M),
    _many(20, "training_info", _M),
    _many(25, "functions", _M),
    _many(26, "configuration", _M),
)
GRAPH = Message(
    "GraphProto",
    _many(1, "node", _M),
    _one(2, "name", _S),
    _many(5, "initializer", _M),
    _one(10, "doc_string", _S),
    _many(11, "input", _M),
    _many(12, "output", _M),
    _many(13, "value_info", _M),
    _many(14, "quantization_annotation", _M),
    _many(15, "sparse_initializer", _M),
    _many(16, "metadata_props", _M),
)
NODE = Message(
    "NodeProto",
    _many(1, "input", _S),
    _many(2, "output", _S),
    _one(3, "name", _S),
    _one(4, "op_type", _S),
    _many(5, "attribute", _M),
    _one(6, "doc_string", _S),
    _one(7, "domain", _S),
    _one(8, "overload", _S),
    _many(9, "metadata_props", _M),
    _many(10, "device_configurations", _M),
)
ATTRIBUTE = Message(
    "AttributeProto",
    _one(1, "name", _S),
    _one(2, "f", _F),
    _one(3, "i", _I),
    _one(4, "s", _B),
    _one(5, "t", _M),
    _one(6, "g", _M),
    _many(7, "floats", _F),
    _many(8, "ints", _I),
    _many(9, "strings", _B),
    _many(10, "tensors", _M),
    _many(11, "graphs", _M),
    _one(13, "doc_string", _S),
    _one(14, "tp", _M),
    _many(15, "type_protos", _M),
    _one(20, "type", _I),
    _one(21, "ref_attr_name", _S),
    _one(22, "sparse_tensor", _M),
    _many(23, "sparse_tensors", _M),
)
FUNCTION = Message(
    "FunctionProto",
    _one(1, "name", _S),
    _many(4, "input", _S),
    _many(5, "output", _S),
    _many(6, "attribute", _S),
    _many(7, "node", _M),
    _one(8, "doc_string", _S),
    _many(9, "opset_import", _M),
    _one(10, "domain", _S),
    _many(11, "attribute_proto", _M),
    _many(12, "value_info", _M),
    _one(13, "overload", _S),
    _many(14, "metadata_props", _M),
)
TENSOR = Message(
    "TensorProto",
    _many(1, "dims", _I),
    _one(2, "data_type", _I),
    _one(3, "segment", _M),
    _many(4, "float_data", _F, packed=True),
    _many(5, "int32_data", _I, packed=True),
    _many(6, "string_data", _B),
    _many(7, "int64_data", _I, packed=True),
    _one(8, "name", _S),
    _one(9, "raw_data", _B),
    _many(10, "double_data", _D, packed=True),
    _many(11, "uint64_data", _U, packed=True),
    _one(12, "doc_string", _S),
    _many(13, "external_data", _M),
    _one(14, "data_location", _I),
    _many(16, "metadata_props", _M),
)
SEGMENT = Message("TensorProto.Segment", _one(1, "begin", _I), _one(2, "end", _I))
SPARSE_TENSOR = Message("SparseTensorProto", _one(1, "values", _M), _one(2, "indices", _M), _many(3, "dims", _I))
VALUE_INFO = Message(
    "ValueInfoProto",
    _one(1, "name", _S),
    _one(2, "type", _M),
    _one(3, "doc_string", _S),
    _many(4, "metadata_props", _M),
)
TYPE = Message(
    "TypeProto",
    _one(1, "tensor_type", _M),
    _one(4, "sequence_type", _M),
    _one(5, "map_type", _M),
    _one(6, "denotation", _S),
    _one(7, "opaque_type", _M),
    _one(8, "sparse_tensor_type", _M),
    _one(9, "optional_type", _M),
)
TENSOR_TYPE = Message("TypeProto.Tensor", _one(1, "elem_type", _I), _one(2, "shape", _M))
ELEMENT_TYPE = Message("TypeProto.Sequence", _one(1, "elem_type", _M))
MAP_TYPE = Message("TypeProto.Map", _one(1, "key_type", _I), _one(2, "value_type", _M))
OPAQUE_TYPE = Message("TypeProto.Opaque", _one(1, "domain", _S), _one(2, "name", _S))
SHAPE = Message("TensorShapeProto", _many(1, "dim", _M))
DIMENSION = Message(
    "TensorShapeProto.Dimension", _one(1, "dim_value", _I), _one(2, "dim_param", _S), _one(3, "denotation", _S)
)
OPSET_ID = Message("OperatorSetIdProto", _one(1, "domain", _S), _one(2, "version", _I))
ENTRY = Message("StringStringEntryProto", _one(1, "key", _S), _one(2, "value", _S))
ANNOTATION = Message("TensorAnnotation", _one(1, "tensor_name", _S), _many(2, "quant_parameter_tensor_names", _M))
TRAINING = Message(
    "TrainingInfoProto",
    _one(1, "initialization", _M),
    _one(2, "algorithm", _M),
    _many(3, "initialization_binding", _M),
    _many(4, "update_binding", _M),
)
DEVICE_CONFIGURATION = Message(
    "DeviceConfigurationProto", _one(1, "name", _S), _one(2, "num_devices", _I), _many(3, "device", _S)
)
NODE_CONFIGURATION = Message(
    "NodeDeviceConfigurationProto",
    _one(1, "configuration_id", _S),
    _many(2, "sharding_spec", _M),
    _one(3, "pipeline_stage", _I),
)
SHARDING = Message(
    "ShardingSpecProto",
    _one(1, "tensor_name", _S),
    _many(2, "device", _I),
    _many(3, "index_to_device_group_map", _M),
    _many(4, "sharded_dim", _M),
)
DEVICE_GROUP = Message("IntIntListEntryProto", _one(1, "key", _I), _many(2, "value", _I))
SHARDED_DIM = Message("ShardedDimProto", _one(1, "axis", _I), _many(2, "simple_sharding", _M))
SIMPLE_SHARDING = Message(
    "SimpleShardedDimProto", _one(1, "dim_value", _I), _one(2, "dim_param", _S), _one(3, "num_shards", _I)
)
SEQUENCE = Message(
    "SequenceProto",
    _one(1, "name", _S),
    _one(2, "elem_type", _I),
    _many(3, "tensor_values", _M),
    _many(4, "sparse_tensor_values", _M),
    _many(5, "sequence_values", _M),
    _many(6, "map_values", _M),
    _many(7, "optional_values", _M),
)
MAP = Message(
    "MapProto",
    _one(1, "name", _S),
    _one(2, "key_type", _I),
    _many(3, "keys", _I),
    _many(4, "string_keys", _B),
    _one(5, "values", _M),
)
OPTIONAL = Message(
    "OptionalProto",
    _one(1, "name", _S),
    _one(2, "elem_type", _I),
    _one(3, "tensor_value", _M),
    _one(4, "sparse_tensor_value", _M),
    _one(5, "sequence_value", _M),
    _one(6, "map_value", _M),
    _one(7, "optional_value", _M),
)
