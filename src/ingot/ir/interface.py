"""Changing what a model takes and returns: its batch size, its outputs, which constants a caller may set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ingot import dims
from ingot.dims import Dim, Expr
from ingot.errors import CheckError, InputError
from ingot.ir.attribute import AttributeKind
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.node import Node
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.types import Shape, TensorType, Type, map_shapes
from ingot.ir.value import Value


def set_batch(model: Model, size: int | str, *, axis: int = 0, inputs: Iterable[str] | None = None) -> None:
    """Make axis `axis` of the inputs (all, or those named) `size`: a number, or the name of a free size.

    A name those axes had is replaced wherever the model declares it. Where they were a number, every declared type
    whose `axis` is that number changes too, since it came from there; shapes that only look alike must be set back by
    hand. InputError if a Reshape to a constant shape would keep the old size.
    """
    new = dims.symbol(size) if isinstance(size, str) else size
    chosen = model.inputs if inputs is None else [model.graph.value(name) for name in inputs]
    old: list[Dim | None] = []
    for value in chosen:
        if not isinstance(value.type, TensorType) or value.type.shape is None or len(value.type.shape) <= axis:
            raise InputError(f"input '{value.name}' has no axis {axis}: it is {value.type or 'of unknown type'}")
        dim = value.type.shape[axis]
        if dim not in old:
            old.append(dim)
    names = {str(dim): new for dim in old if isinstance(dim, Expr) and dim == dims.symbol(str(dim))}
    numbers = {dim for dim in old if isinstance(dim, int) and dim != new}
    if numbers:
        _refuse_fixed_reshapes(model, numbers, axis)

    def change(shape: Shape) -> Shape:
        changed = tuple(None if dim is None else dims.substitute(dim, names) for dim in shape)
        if len(changed) > axis and changed[axis] in numbers:
            changed = (*changed[:axis], new, *changed[axis + 1 :])
        return changed

    for graph in nested_graphs(model.graph):
        for value in graph.values():
            if value.type is not None and not value.is_initializer:
                value.type = map_shapes(value.type, change)
    for value in chosen:
        assert isinstance(value.type, TensorType)
        value.type = map_shapes(value.type, lambda shape: (*shape[:axis], new, *shape[axis + 1 :]))


def set_shapes(model: Model, shapes: Mapping[str, Shape], sizes: Mapping[str, Dim] | None = None) -> None:
    """Give shapes to inputs, and sizes to names, wherever a model declares these.

    InputError if one does not fit what is declared, or a name would be two sizes.
    """
    named = dict(sizes or {})
    for name, shape in shapes.items():
        _set_shape(model.graph.value(name), tuple(shape), named)
    substitute_sizes(model, named)


def substitute_sizes(model: Model, sizes: Mapping[str, Dim]) -> None:
    """Put sizes in the place of their names in every type of the main graph and its subgraphs."""

    def change(shape: Shape) -> Shape:
        return tuple(None if dim is None else dims.substitute(dim, sizes) for dim in shape)

    change_shapes(nested_graphs(model.graph), change)


def change_shapes(graphs: Iterable[Graph], change: Callable[[Shape], Shape]) -> bool:
    """Change every shape that values of graphs declare; whether any became another."""
    changed = False
    for graph in graphs:
        for value in graph.values():
            if value.type is not None:
                type_ = map_shapes(value.type, change)
                changed |= type_ is not value.type
                value.type = type_
    return changed


def _set_shape(value: Value, shape: Shape, named: dict[str, Dim]) -> None:
    if not isinstance(value.type, TensorType):
        raise InputError(f"input '{value.name}' is {value.type or 'of unknown type'}, which has no shape to give")
    declared = (None,) * len(shape) if value.type.shape is None else value.type.shape
    if len(declared) != len(shape):
        raise InputError(f"input '{value.name}' is {value.type}, {len(shape)} sizes are given")
    for old, new in zip(declared, shape, strict=True):
        if isinstance(old, int) and old != new:
            raise InputError(f"input '{value.name}' is {value.type}: its size {old} cannot be {new}")
        is_name = isinstance(old, Expr) and old == dims.symbol(str(old))
        if is_name and new is not None and named.setdefault(str(old), new) != new:
            raise InputError(f"size '{old}' is given as {named[str(old)]} and as {new}")
    value.type = TensorType(value.type.dtype, shape)


def add_outputs(model: Model, names: Iterable[str], *, types: dict[str, Type] | None = None) -> None:
    """Return values of the main graph that it only computed so far; one it returns already stays where it is."""
    for name in [names] if isinstance(names, str) else names:
        value = model.graph.value(name)
        if types and name in types:
            value.type = types[name]
        if value not in model.graph.outputs:
            model.graph.outputs.append(value)


def remove_outputs(model: Model, names: Iterable[str]) -> None:
    """Stop returning values; what only they needed is still computed, until dead nodes are removed."""
    for name in [names] if isinstance(names, str) else names:
        value = model.graph.value(name)
        if value not in model.graph.outputs:
            raise InputError(
                f"'{name}' is not an output", hint=f"the outputs are {', '.join(model.graph.outputs.names)}"
            )
        model.graph.outputs.remove(value)


def initializers_to_inputs(model: Model, names: Iterable[str] | None = None, *, keep_default: bool = False) -> None:
    """Let the caller give constants: those named, or all; with `keep_default` the old value stays the default."""
    graph = model.graph
    chosen = list(graph.initializers) if names is None else [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in graph.initializers:
            raise InputError(f"'{name}' is not an initialiser")
        value = graph.initializers[name]
        if isinstance(value.constant, SparseTensor):
            raise CheckError(f"'{name}' is sparse: no operator takes a sparse input")
        value.type = value.type or (value.constant.type if value.constant else None)
        if not value.is_input:
            graph.inputs.append(value)
        if not keep_default:
            graph.initializers.remove(value)


def inputs_to_initializers(model: Model, values: dict[str, Tensor | object] | None = None) -> None:
    """Make inputs constant: those given a value here, and without `values` those that have a default already."""
    graph = model.graph
    if values is None:
        for value in [value for value in graph.inputs if value.constant is not None]:
            graph.inputs.remove(value)
        return
    for name, constant in values.items():
        value = graph.value(name)
        if not value.is_input:
            raise InputError(f"'{name}' is not an input", hint=f"the inputs are {', '.join(graph.inputs.names)}")
        tensor = constant if isinstance(constant, Tensor) else Tensor(constant, name=name)  # type: ignore[arg-type]
        _check_fits(value, tensor)
        value.constant = tensor
        value.type = tensor.type
        graph.initializers.add(value)
        graph.inputs.remove(value)


def remove_dead(graph: Graph) -> int:
    """Remove nodes whose results nobody reads, and initialisers nobody reads that are no inputs; how many nodes."""
    removed = 0
    for node in reversed(graph.nodes):
        for subgraph in node.subgraphs:
            removed += remove_dead(subgraph)
        if not any(value.is_used for value in node.outputs):
            graph.remove(node)
            removed += 1
    for value in list(graph.initializers.values()):
        if not value._uses and not value.is_output and not value.is_input:
            graph.initializers.remove(value)
    return removed


def _check_fits(value: Value, tensor: Tensor) -> None:
    declared = value.type
    if not isinstance(declared, TensorType):
        return
    fits = declared.dtype == tensor.dtype
    if declared.shape is not None:
        fits = fits and len(declared.shape) == len(tensor.shape)
        for want, have in zip(declared.shape, tensor.shape, strict=False):
            fits = fits and (not isinstance(want, int) or want == have)
    if not fits:
        raise InputError(f"'{value.name}' is {declared}, the constant given is {tensor.type}")


def _refuse_fixed_reshapes(model: Model, numbers: set[int], axis: int) -> None:
    for node in model.graph:
        if not node.applies("Reshape") or len(node.inputs) < 2:
            continue
        target = node.inputs[1]
        tensor = _constant(target)
        if tensor is None or axis >= tensor.size or tensor.size > 64:
            continue
        wanted = tensor.numpy().reshape(-1).tolist()
        if wanted[axis] in numbers and -1 not in wanted:
            raise InputError(
                f"node '{node.label}' reshapes to {wanted}, which holds the old batch size",
                hint="give the Reshape a -1 on that axis first",
            )


def _constant(value: Value | None) -> Tensor | None:
    """The tensor a value always has: an initialiser's, or a Constant node's."""
    if value is None:
        return None
    if isinstance(value.constant, Tensor) and not value.is_input:
        return value.constant
    producer: Node | None = value.producer
    if producer is not None and producer.applies("Constant"):
        attribute = producer.attributes.get("value")
        if attribute is not None and attribute.kind is AttributeKind.TENSOR and isinstance(attribute.value, Tensor):
            return attribute.value
    return None
