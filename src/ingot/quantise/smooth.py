"""SmoothQuant: channels of an activation that reach far are divided, and the rows of the weights multiplied.

Activations of transformers have a few channels with outliers, which leave the others no steps; weights have none. The
factors go into the normalisation before where there is one, and into a product of their own where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ingot.dtypes import Array
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.quantise.prepare import Prepared
from ingot.quantise.products import Product
from ingot.quantise.statistics import activation, is_matrix_product, matrix
from ingot.quantise.writer import set_constant
from ingot.queries.lenient_inference import gather
from ingot.queries.values import elements, read

_STRENGTH = 0.5
"""How much of an outlier moves from an activation to the weights."""

_NORMALISATIONS = ("LayerNormalization", "RMSNormalization")


def smooth(prepared: Prepared, products: Sequence[Product], reaches: Mapping[str, Array]) -> Prepared:
    """The model with the activations of products of matrices smoothed, by their reaches; results stay the same."""
    for value, readers in by_activation(products).items():
        reach = reaches[value.name].astype(np.float64)
        weight = np.max([np.abs(matrix(each, each.weight_array())).max(1) for each in readers], axis=0)
        usable = (reach > 0) & (weight > 0)
        factors = np.ones(reach.shape)
        factors[usable] = reach[usable] ** _STRENGTH / weight[usable] ** (1 - _STRENGTH)
        scale_channels(prepared, value, readers, factors / np.exp(np.log(factors).mean()))
    return Prepared(prepared.model, gather(prepared.model))


def by_activation(products: Sequence[Product]) -> dict[Value, list[Product]]:
    """The products of matrices by what they read."""
    readers: dict[Value, list[Product]] = {}
    for product in products:
        if is_matrix_product(product):
            readers.setdefault(activation(product), []).append(product)
    return readers


def scale_channels(prepared: Prepared, value: Value, readers: Sequence[Product], factors: Array) -> None:
    """Divide the channels of an activation by factors, and multiply the rows of the weights that read it."""
    for product in readers:
        array = product.weight_array()
        scaled = array * (factors[:, None] if product.sum_axis == 0 else factors[None, :])
        assert product.weight is not None
        set_constant(product.node, product.weight_position, scaled)
    nodes = {product.node for product in readers}
    alone = not value.is_output and all(use.node in nodes and use.position == 0 for use in value.uses)
    if not (alone and _into_normalisation(prepared, value, factors)):
        graph: Graph = prepared.model.graph
        inverse = graph.add_initializer(graph.fresh_name(f"{value.name}_smoothing"), (1 / factors).astype(np.float32))
        uses = [use for use in value.uses if use.node in nodes and use.position == 0]
        divided = Node("Mul", [value, inverse], [graph.fresh_name(f"{value.name}_smoothed")])
        if value.producer is not None:
            graph.insert_after(value.producer, divided)
        else:
            graph.insert_before(graph.nodes[0], divided)
        for node, position in uses:
            node.replace_input(position, divided.output)


def _into_normalisation(prepared: Prepared, value: Value, factors: Array) -> bool:
    node = value.producer
    if node is None or not node.applies(*_NORMALISATIONS) or value.index or node.get("axis", -1) != -1:
        return False
    parts = [(position, read(node, position)) for position in (1, 2)]
    arrays = [(position, part, elements(part, prepared.facts)) for position, part in parts if part is not None]
    if not arrays or any(array is None or array.shape != factors.shape for _, _, array in arrays):
        return False
    for position, _, array in arrays:
        assert array is not None
        set_constant(node, position, array / factors)
    return True
