"""The pipeline of passes: every pass in its place, for `ingot optimize` and for a session.

`ingot optimize` runs it in rounds until nothing changes. A session runs its own part once, before it lowers a model:
what pays by what is left to compute. Views, shape arithmetic and activations in many nodes need no pass there: lowering
follows them, however they are spelled. Passes that change types run first, while a session specialises the model, whose
types are inferred after them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from ingot.dataclass import dataclass
from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog
from ingot.passes.dead import dead
from ingot.passes.fold import fold
from ingot.passes.levels import refuse_level
from ingot.passes.shapes import known_integers
from ingot.passes.string_codes import encode_strings

Pass: TypeAlias = Callable[[Model, Facts], int]
"""A pass edits a model by what is known of its values, and returns how much it changed; results stay the same."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A pass under the name that reports show, from `level` on; `session` is the level from which a session runs it.

    A pass that `needs_catalog` is called with it, by keyword. `in_session` is the same pass with other options. One
    that `changes_types` is of a session alone: it is called with the model, before types are inferred. A session skips
    one that `concerns` operators, by name, of which the model has none.
    """

    name: str
    run: Callable[..., int]
    level: int | None
    session: int | None = None
    needs_catalog: bool = False
    in_session: Callable[..., int] | None = None
    changes_types: bool = False
    concerns: tuple[str, ...] = ()


def _in(place: str) -> Callable[..., int]:
    """The pass `module.function` of this package, which is imported when it runs: in a session most never do."""
    module, _, name = place.partition(".")

    def run(*arguments: Any, **named: Any) -> int:
        function: Callable[..., int] = getattr(import_module(f"{__package__}.{module}"), name)
        return function(*arguments, **named)

    return run


PIPELINE = (
    Entry(
        "drop invariant states", _in("invariant_states.drop_invariant_states"), None, session=1, changes_types=True,
        concerns=("Loop",),
    ),
    Entry("count loops", _in("counted_loops.count_loops"), None, session=1, changes_types=True, concerns=("Loop",)),
    Entry(
        "read sequences as tensors", _in("sequences.sequences_to_tensors"), None, session=1, needs_catalog=True,
        changes_types=True, concerns=("SequenceConstruct", "SequenceEmpty", "SplitToSequence", "Optional"),
    ),
    Entry(
        "collect growing states", _in("growing.collect_growing_states"), None, session=1, needs_catalog=True,
        changes_types=True, concerns=("Loop",),
    ),
    Entry(
        "number string labels", _in("string_labels.number_labels"), None, session=1, changes_types=True,
        concerns=("LabelEncoder", "LinearClassifier", "SVMClassifier"),
    ),
    Entry("encode strings", encode_strings, None, session=1, changes_types=True),
    Entry("skip nodes that change nothing", _in("identity.skip"), 1),
    Entry("evaluate shape arithmetic", known_integers, 1, session=1),
    Entry("fold constants", fold, 1, session=1, needs_catalog=True, in_session=partial(fold, constant_nodes=False)),
    Entry("settle branches", _in("branches.settle_branches"), 1),
    Entry("exchange branches", _in("branches.exchange_branches"), 1, session=1, concerns=("If",)),
    Entry("share common subexpressions", _in("cse.share"), 1, needs_catalog=True),
    Entry("unstack transposes", _in("batched_transpose.unstack_transposes"), 1),
    Entry("cancel transposes", _in("transpose.cancel_transposes"), 1),
    Entry("merge reshapes", _in("reshape.merge_views"), 1),
    Entry("remove dead code", dead, 0),
    Entry("recognise operators", _in("recognise.recognise"), 2),
    Entry("recognise attention", _in("attention.recognise_attention"), 2),
    Entry(
        "move codes instead of what they stand for", _in("move_codes.move_codes"), None, session=2,
        concerns=("DequantizeLinear",),
    ),
    Entry(
        "join codes instead of what they stand for", _in("join_codes.join_codes"), None, session=2,
        concerns=("QuantizeLinear",),
    ),
    Entry(
        "spread pixels of dequantised tensors", _in("upsampled_codes.spread_pixels"), None, session=2,
        concerns=("ConvTranspose",),
    ),
    Entry(
        "multiply codes of dequantised tensors", _in("integer_products.integer_products"), None, session=2,
        concerns=("DequantizeLinear",),
    ),
    Entry(
        "compute attention in float32", _in("widen_attention.widen_attention"), None, session=2, concerns=("MatMul",),
    ),
    Entry("scale scores of attention", _in("scale_scores.scale_scores"), None, session=2, concerns=("Softmax",)),
    Entry("absorb padding", _in("padding.absorb_padding"), 2, session=2, concerns=("Pad",)),
    # in a session, a product of matrices scales its sums for nothing; to scale its weights takes reading them all
    Entry(
        "fold scales into weights", _in("normalisation_folding.fold_scales"), 2, session=2,
        in_session=partial(_in("normalisation_folding.fold_scales"), into=("Conv", "ConvTranspose")),
        concerns=("Conv", "ConvTranspose"),
    ),
    Entry(
        "crop kernels larger than images", _in("crop_kernels.crop_kernels"), 2, session=2, concerns=("Conv",),
    ),
    Entry("recover biases", _in("bias.recover_bias"), 2),
    Entry("remove what that left", dead, 2, session=1),
)  # fmt: skip


def passes(level: int, catalog: Catalog | None = None) -> dict[str, Pass]:
    """The passes of `ingot optimize` at a level, by name, in order; InputError if there is no such level."""
    refuse_level(level)
    return {entry.name: _bound(entry.run, entry, catalog) for entry in PIPELINE if _is_on(entry.level, level)}


def session_passes(level: int, catalog: Catalog | None = None) -> dict[str, Pass]:
    """The same of a session, where level 0 changes nothing."""
    return _of_session(level, catalog, changes_types=False)


def passes_before_types(level: int, catalog: Catalog | None = None) -> dict[str, Callable[[Model], int]]:
    """The same of a session that change types, and run before these are inferred."""
    return _of_session(level, catalog, changes_types=True)


def run_concerned(passes: Mapping[str, Callable[..., int]], model: Model, *arguments: Any) -> dict[str, int]:
    """How much each of the passes of a session changes in a model; those that concern no operator of it do not run."""
    concerns = {entry.name: entry.concerns for entry in PIPELINE}
    operators = _operators_in(model)
    changed: dict[str, int] = {}
    for name, run in passes.items():
        if concerns[name] and operators.isdisjoint(concerns[name]):
            changed[name] = 0
            continue
        changed[name] = run(model, *arguments)
        if changed[name]:
            operators = _operators_in(model)
    return changed


def _operators_in(model: Model) -> set[str]:
    return {node.op_type for graph in model.graphs() for node in graph.nodes}


def _of_session(level: int, catalog: Catalog | None, changes_types: bool) -> dict[str, Callable[..., int]]:
    refuse_level(level)
    return {
        entry.name: _bound(entry.in_session or entry.run, entry, catalog)
        for entry in PIPELINE
        if _is_on(entry.session, level) and entry.changes_types == changes_types
    }


def _is_on(since: int | None, level: int) -> bool:
    return since is not None and since <= level


def _bound(run: Callable[..., int], entry: Entry, catalog: Catalog | None) -> Callable[..., int]:
    return partial(run, catalog=catalog) if entry.needs_catalog else run
