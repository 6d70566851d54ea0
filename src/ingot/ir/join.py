"""Joining two models: what one computes becomes what the other takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ingot.errors import CheckError, nearest
from ingot.ir.domains import spelled_out
from ingot.ir.graph import Graph
from ingot.ir.model import Model, nested_graphs
from ingot.ir.names import prefix
from ingot.ir.types import TensorType
from ingot.ir.value import Value


def join(
    first: Model,
    second: Model,
    connect: Mapping[str, str] | None = None,
    *,
    prefixes: tuple[str, str] = ("", ""),
    outputs: Iterable[str] | None = None,
) -> Model:
    """A new model that runs `first`, then `second` on what it computed.

    `connect` maps outputs of `first` to inputs of `second`; without it, those of one name are connected, or all of them
    in order if there are as many as `second` takes. What is not connected stays an input or output of the whole.
    `prefixes` are put before the names of either model, and are needed where both use a name; `outputs` picks and
    orders the outputs of the whole. CheckError if the two cannot go together: names, types, operator sets, functions.
    """
    pairs = _pairs(first, second, connect)
    left, right = first.copy(), second.copy()
    name = "_".join(graph.name for graph in (left.graph, right.graph) if graph.name)
    sources = dict(zip(first.graph.outputs.names, left.graph.outputs, strict=True))
    heads = dict(zip(second.graph.inputs.names, right.graph.inputs, strict=True))
    for model, text in zip((left, right), prefixes, strict=True):
        if text:
            prefix(model, text)
    links = {heads[target]: sources[source] for source, target in pairs.items()}
    _check_types(links)
    _check_names(left.graph, right.graph, links)
    remaining = [value for name, value in sources.items() if name not in pairs]
    results = [links.get(value, value) for value in right.graph.outputs]
    right.graph.outputs.clear()
    for head, source in links.items():
        head.replace_uses(source)
        right.graph.inputs.remove(head)
        if head.is_initializer:
            right.graph.initializers.remove(head)
    _move(right.graph, left.graph)
    left.graph.outputs[:] = [*remaining, *results]
    left.graph.name = name
    _merge(left, right)
    if outputs is not None:
        left.graph.outputs[:] = [left.graph.value(name) for name in outputs]
    return left


def _pairs(first: Model, second: Model, connect: Mapping[str, str] | None) -> dict[str, str]:
    ends, heads = first.graph.outputs.names, [value.name for value in second.inputs]
    if connect is None:
        same = {name: name for name in ends if name in heads}
        if same:
            return same
        if len(ends) == len(heads):
            return dict(zip(ends, heads, strict=True))
        raise CheckError(
            f"the first model's outputs ({', '.join(ends)}) and the second's inputs ({', '.join(heads)}) share no name",
            hint="say which goes where: connect={'output': 'input'}",
        )
    everything = second.graph.inputs.names
    for source, target in connect.items():
        if source not in ends:
            raise CheckError(f"the first model has no output '{source}'", hint=nearest(source, ends))
        if target not in everything:
            raise CheckError(f"the second model has no input '{target}'", hint=nearest(target, everything))
    if len(set(connect.values())) < len(connect):
        raise CheckError("two outputs are connected to one input")
    return dict(connect)


def _check_types(links: Mapping[Value, Value]) -> None:
    for head, source in links.items():
        have, want = source.type, head.type
        if not isinstance(have, TensorType) or not isinstance(want, TensorType):
            if have is not None and want is not None and type(have) is not type(want):
                raise CheckError(f"'{source.name}' is {have}, '{head.name}' takes {want}")
            continue
        clash = have.dtype != want.dtype
        if have.shape is not None and want.shape is not None:
            clash = clash or len(have.shape) != len(want.shape)
            for a, b in zip(have.shape, want.shape, strict=False):
                clash = clash or (isinstance(a, int) and isinstance(b, int) and a != b)
        if clash:
            raise CheckError(f"'{source.name}' is {have}, '{head.name}' takes {want}")


def _check_names(left: Graph, right: Graph, links: Mapping[Value, Value]) -> None:
    used = {value.name for graph in nested_graphs(left) for value in graph.values()}
    theirs = (value for graph in nested_graphs(right) for value in graph.values() if value not in links)
    clashing = [value.name for value in theirs if value.name in used]
    if clashing:
        shown = ", ".join(f"'{name}'" for name in clashing[:5])
        raise CheckError(f"both models use the names {shown}", hint="give prefixes: prefixes=('first/', 'second/')")


def _move(source: Graph, target: Graph) -> None:
    """Everything of one graph to the end of another."""
    inputs, constants = list(source.inputs), list(source.initializers.values())
    source.inputs.clear()
    source.initializers._members.clear()
    for value in (*inputs, *constants):
        value._graph = None
    target.inputs.extend(inputs)
    for value in constants:
        target.initializers.add(value)
    target.extend(source.nodes)
    target.quantization.extend(source.quantization)


def _merge(left: Model, right: Model) -> None:
    for domain, version in right.opset_imports.items():
        if left.opset_imports.setdefault(domain, version) != version:
            raise CheckError(
                f"the models import '{spelled_out(domain)}' in versions {left.opset_imports[domain]} and {version}",
                hint="convert one of them to the other's version first",
            )
    for name, function in right.functions.items():
        if name in left.functions:
            raise CheckError(f"both models define the function '{name}'", hint="inline the functions of one first")
        left.functions[name] = function
    left.ir_version = max(left.ir_version, right.ir_version)
    left.metadata = {**right.metadata, **left.metadata}
    left.configurations += [c for c in right.configurations if c not in left.configurations]
    left.training += right.training
