"""The graph: models, graphs, nodes, values, types and constants, and the edits that keep them right."""

from ingot.ir.attribute import Attribute, AttributeKind, Attributes
from ingot.ir.clone import copy_function, copy_graph, copy_model
from ingot.ir.graph import Graph
from ingot.ir.model import IR_VERSION, Function, FunctionId, Model, TrainingInfo, nested_graphs
from ingot.ir.node import Node
from ingot.ir.sharding import (
    DeviceConfiguration,
    NodeConfiguration,
    ShardedDim,
    Sharding,
    SimpleSharding,
    TensorAnnotation,
)
from ingot.ir.sort import captures, reads, sorted_nodes
from ingot.ir.tensor import External, SparseTensor, Tensor
from ingot.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
    format_shape,
    is_static,
    map_shapes,
)
from ingot.ir.value import Use, Value
from ingot.ir.verify import problems, verify

__all__ = [
    "IR_VERSION",
    "Attribute",
    "AttributeKind",
    "Attributes",
    "DeviceConfiguration",
    "External",
    "Function",
    "FunctionId",
    "Graph",
    "MapType",
    "Model",
    "Node",
    "NodeConfiguration",
    "OpaqueType",
    "OptionalType",
    "SequenceType",
    "Shape",
    "ShardedDim",
    "Sharding",
    "SimpleSharding",
    "SparseTensor",
    "SparseTensorType",
    "Tensor",
    "TensorAnnotation",
    "TensorType",
    "TrainingInfo",
    "Type",
    "Use",
    "Value",
    "captures",
    "copy_function",
    "copy_graph",
    "copy_model",
    "format_shape",
    "is_static",
    "map_shapes",
    "nested_graphs",
    "problems",
    "reads",
    "sorted_nodes",
    "verify",
]
