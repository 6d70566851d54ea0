"""Optimising a model: the passes in the order of their story, again and again until nothing changes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field

from ingot.builder.versions import INITIALIZERS_ALONE_SINCE, ir_version_of
from ingot.dataclass import dataclass
from ingot.errors import UnsupportedError
from ingot.ir.interface import inputs_to_initializers
from ingot.ir.model import Model, nested_graphs
from ingot.ir.names import separate_scopes
from ingot.ir.sizes import tensor_sizes
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.catalog import Catalog, standard
from ingot.passes.inline import inline_functions
from ingot.passes.pipeline import passes
from ingot.queries.lenient_inference import gather
from ingot.versions.upgrade import upgrade

MOST_ROUNDS = 12
"""Rounds of all passes; a model is done after three or four."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was changed, by pass, and how large the model was and is: all nodes, also of subgraphs, and all tensors."""

    nodes_before: int
    nodes_after: int
    bytes_before: int
    bytes_after: int
    changes: dict[str, int] = field(default_factory=dict)


def optimise(
    model: Model,
    level: int = 2,
    *,
    catalog: Catalog | None = None,
    without: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Report:
    """Bring a model to the newest operators, inline its functions and make it smaller and faster; returns what changed.

    The names and declared types of inputs and outputs stay. Level 1 leaves every result as it is, bit for bit; level 2,
    the default, also what changes results by rounding: normalisations folded into weights, and operators recognised in
    the forms that exporters write. Attention reads zero where such a form gives NaN, for a query that sees no key.
    Passes whose names are in `without` are left out, and with `only` all others than those in it.

    CheckError if the model breaks the standard, UnsupportedError if it carries training graphs.
    """
    catalog = catalog or standard()
    if model.training:
        raise UnsupportedError(
            "the model carries training graphs, which name its weights", hint="drop them: model.training.clear()"
        )
    offered = passes(level, catalog).items()
    story = {name: each for name, each in offered if name not in without and (only is None or name in only)}
    before = _size(model)
    changes = dict.fromkeys(("upgrade operators", "inline functions", *story), 0)
    separate_scopes(model)
    changes["upgrade operators"] = upgrade(model, catalog=catalog)
    changes["inline functions"] = inline_functions(model)
    if model.ir_version < INITIALIZERS_ALONE_SINCE:  # a default was nothing else than a constant
        inputs_to_initializers(model)
        model.ir_version = INITIALIZERS_ALONE_SINCE
    declared = _take_types(model, catalog)
    for _ in range(MOST_ROUNDS):
        facts = gather(model, catalog=catalog)
        changed = {name: each(model, facts) for name, each in story.items()}
        for name, count in changed.items():
            changes[name] += count
        if not any(changed.values()):
            break
    _give_types(model, declared)
    model.ir_version = max(model.ir_version, ir_version_of(model.opset or 1))
    after = _size(model)
    shown = {name: count for name, count in changes.items() if count}
    return Report(before[0], after[0], before[1], after[1], shown)


def _size(model: Model) -> tuple[int, int]:
    return sum(1 for _ in model.nodes()), sum(size.nbytes for size in tensor_sizes(model))


@dataclass(frozen=True, slots=True)
class _Declared:
    values: dict[Value, Type | None]
    outputs: list[Type | None]


def _take_types(model: Model, catalog: Catalog) -> _Declared:
    """Note the types a model declares, and take away those of what known operators compute.

    These are found again, from the inputs alone: that two sizes are one must not rest on what an exporter called them.
    """
    values = {value: value.type for graph in nested_graphs(model.graph) for value in graph.values()}
    outputs = [value.type for value in model.graph.outputs]
    for graph in nested_graphs(model.graph):
        for node in graph:
            operator = catalog.newest(node.domain, node.op_type)
            if model.function_of(node) is None and operator is not None and "infer" in operator.rules:
                for value in node.outputs:
                    value.type = None
    return _Declared(values, outputs)


def _give_types(model: Model, declared: _Declared) -> None:
    """Put declared types back in the place of those found, which name sizes that the model does not."""
    for graph in nested_graphs(model.graph):
        for value in graph.values():
            if value.constant is None or value.is_input:
                value.type = declared.values.get(value)
    for value, type_ in zip(model.graph.outputs, declared.outputs, strict=True):
        value.type = type_
