"""The table of repairs, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ingot.dataclass import dataclass
from ingot.repair.coefficients import drop_spare_coefficients
from ingot.repair.constants import list_constants, merge_constants, name_main_graph
from ingot.repair.declared import believe_inference
from ingot.repair.imports import import_domains, import_once
from ingot.repair.names import rename_apart
from ingot.repair.newer_operators import raise_opset
from ingot.repair.order import sort_nodes
from ingot.repair.record import Repair, Subject
from ingot.repair.scalars import fit_loop_bodies, fit_ranks
from ingot.repair.signals import add_signal_axis
from ingot.repair.sparse import make_dense
from ingot.repair.untyped import declare_outputs
from ingot.repair.without_results import drop_without_results


@dataclass(frozen=True, slots=True)
class Rule:
    """One repair: its name in reports, what it changes, and the function that does."""

    name: str
    what: str
    apply: Callable[[Subject], Iterable[Repair]]
    needs_types: bool = False
    """Whether it asks for types, which only a model of sound structure has."""


RULES = (
    Rule("without-results", "nodes of the standard that return nothing are removed", drop_without_results),
    Rule("order", "nodes that come before what they read are moved behind it", sort_nodes),
    Rule("constants", "of initialisers of a graph with one name and type, the last stays", merge_constants),
    Rule("names", "values that have the name of one around them get another", rename_apart),
    Rule("import", "a domain that is used and not imported is imported", import_domains),
    Rule("imported-twice", "of a domain that is imported twice, the version that comes last stays", import_once),
    Rule("graph-name", "the main graph gets a name", name_main_graph),
    Rule("constant-inputs", "initialisers become inputs too, where IR versions below 4 want it", list_constants),
    Rule("opset", "operators newer than the opset raise the opset, where onnxruntime takes them", raise_opset),
    Rule("sparse", "sparse initialisers that are used as tensors become dense", make_dense),
    Rule("loop", "a count or condition of shape [1] in the body of a Loop becomes a scalar", fit_loop_bodies, True),
    Rule("rank", "[1] becomes a scalar, and a scalar [1], where an operator takes only the other", fit_ranks, True),
    Rule("signal", "the signal of an STFT gets the last axis that it lacks", add_signal_axis, True),
    Rule("coefficients", "a linear model loses coefficients that onnxruntime skips", drop_spare_coefficients, True),
    Rule("declared", "declared ranks and sizes become what inference finds", believe_inference, True),
    Rule("untyped", "an output of the model without a type or shape gets what inference finds", declare_outputs, True),
)
