"""What a model says about devices and quantisation parameters, as statements of a program in style build."""

from __future__ import annotations

from collections.abc import Callable

from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.sharding import ShardedDim, SimpleSharding
from ingot.ir.value import Value
from ingot.source.layout import Expression, call, labelled, lines, listed, mapping, tupled
from ingot.source.literals import quoted

Reference = Callable[[Value], str]
"""The expression of a value of the graph, as an `ir.Value`."""


def configured(node: Node, variable: str, indent: int, reference: Reference, used: set[str]) -> list[str]:
    """The statement that sets the device configurations of the node whose first result a variable holds."""
    if not node.device_configurations:
        return []
    used |= {"sharding.NodeConfiguration", "sharding.Sharding"}
    configurations: list[Expression] = []
    for configuration in node.device_configurations:
        shardings: list[Expression] = [
            call(
                "Sharding",
                reference(sharding.value),
                repr(sharding.devices),
                repr(sharding.groups),
                tupled([_sharded_dim(dim, used) for dim in sharding.dims]),
            )
            for sharding in configuration.shardings
        ]
        name, stage = quoted(configuration.configuration), str(configuration.pipeline_stage)
        configurations.append(call("NodeConfiguration", name, tupled(shardings), stage))
    label = f"{variable}.value.producer.device_configurations = "
    return lines(labelled(label, tupled(configurations)), indent)


def _sharded_dim(dim: ShardedDim, used: set[str]) -> Expression:
    used |= {"sharding.ShardedDim", "sharding.SimpleSharding"}
    return call("ShardedDim", str(dim.axis), tupled([_piece(piece, used) for piece in dim.shardings]))


def _piece(piece: SimpleSharding, used: set[str]) -> Expression:
    if piece.dim is None or isinstance(piece.dim, int):
        return call("SimpleSharding", str(piece.num_shards), str(piece.dim))
    used.add("dims.from_param")
    return call("SimpleSharding", str(piece.num_shards), call("from_param", quoted(str(piece.dim))))


def annotated(graph: Graph, owner: str, indent: int, reference: Reference, used: set[str]) -> list[str]:
    """The statement that sets the annotations of quantisation of a graph that an expression gives."""
    if not graph.quantization:
        return []
    used.add("sharding.TensorAnnotation")

    def value_of(value: Value) -> str:
        return f"{owner}.value({quoted(value.name)})" if value.graph is graph else reference(value)

    notes: list[Expression] = []
    for note in graph.quantization:
        pairs: list[tuple[str, Expression]] = [
            (quoted(role), value_of(value)) for role, value in note.parameters.items()
        ]
        notes.append(call("TensorAnnotation", value_of(note.value), mapping(pairs)))
    return lines(labelled(f"{owner}.quantization = ", listed(notes)), indent)
