"""A model that goes wrong made smaller: fewer outputs, fewer nodes, as long as it still does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ingot.dtypes import Array
from ingot.infer import infer
from ingot.ir import Model, TensorType, Value
from ingot.session import Session

Case = tuple[Model, dict[str, Array]]


def smaller(model: Model, feeds: Mapping[str, Array], wrong: Callable[[Model, dict[str, Array]], str | None]) -> Case:
    """The smallest model found that is still `wrong`, which says how, and its inputs."""
    best: Case = _pruned(model.copy(), dict(feeds))
    if wrong(*best) is None:
        return best
    found = True
    while found:
        found = False
        for case in _candidates(best):
            if _size(case) < _size(best) and wrong(*case) is not None:
                best, found = case, True
                break
    return best


def shown(model: Model) -> str:
    """The nodes of a model with the types of what they make, and what its small constants hold."""
    facts = infer(model.copy())
    types = {value.name: str(fact.type) for value, fact in facts.items()}
    lines = [f"  {value.name}: {value.type}" for value in model.graph.inputs]
    for value in model.graph.initializers.values():
        array = value.constant.numpy()  # type: ignore[union-attr]
        lines.append(f"  {value.name} = {array.dtype}{list(array.shape)} {array.tolist() if array.size <= 8 else ''}")
    for node in model.graph:
        made = ", ".join(f"{value.name}: {types.get(value.name)}" for value in node.outputs)
        given = ", ".join("" if value is None else value.name for value in node.inputs)
        attributes = {name: attribute.value for name, attribute in node.attributes.items()}
        lines.append(f"  {made} = {node.op_type}({given}) {attributes or ''}")
    return "\n".join([*lines, f"  returns {', '.join(model.graph.outputs.names)}"])


def _size(case: Case) -> int:
    return len(case[0].graph) + len(case[0].graph.outputs)


def _candidates(case: Case) -> Iterator[Case]:
    model, feeds = case
    names = list(model.graph.outputs.names)
    if len(names) > 1:
        for name in names:
            copy = model.copy()
            for other in [value for value in copy.graph.outputs if value.name != name]:
                copy.graph.outputs.remove(other)
            yield _pruned(copy, dict(feeds))
    nodes = list(model.graph)
    for node in reversed(nodes):  # return what comes before the end
        for value in node.outputs:
            copy = model.copy()
            copy.graph.outputs.clear()
            copy.graph.outputs.append(copy.graph.value(value.name))
            yield _pruned(copy, dict(feeds))
    try:
        inner = [value for node in nodes for value in node.outputs]
        results = Session(model, providers=("reference",)).run([value.name for value in inner], feeds)
        arrays = dict(zip([value.name for value in inner], results, strict=True))
    except Exception:
        return
    facts = {value.name: fact for value, fact in infer(model.copy()).items()}
    for value in inner:  # give what was computed
        fact = facts[value.name]
        if fact.dtype is None or fact.shape is None or None in fact.shape or value.is_output:
            continue
        copy = model.copy()
        old = copy.graph.value(value.name)
        name = copy.graph.fresh_name("given")
        new = Value(name, TensorType(fact.dtype, fact.shape))
        copy.graph.inputs.append(new)
        old.replace_uses(new)
        yield _pruned(copy, {**feeds, name: arrays[value.name]})


def _pruned(model: Model, feeds: dict[str, Array]) -> Case:
    graph = model.graph
    for node in reversed(graph.nodes):
        if not any(value.uses or value.is_output for value in node.outputs):
            graph.remove(node)
    for value in [value for value in graph.inputs if not value.uses and not value.is_output]:
        graph.inputs.remove(value)
        feeds.pop(value.name, None)
    for name in [name for name, value in graph.initializers.items() if not value.uses and not value.is_output]:
        graph.initializers.remove(name)
    return model, feeds
