"""The pipeline of passes: every pass in its place, for `ingot optimize` and for a session.

`ingot optimize` runs it in rounds until nothing changes. A session runs its own part once, before it lowers a model:
what pays by what is left to compute. Views, shape arithmetic and activations in many nodes need no pass there: lowering
follows them, however they are spelled. Passes that change types run first, while a session specialises the model, whose
types are inferred after them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ingot.dataclass import dataclass
from ingot.infer.driver import Facts
from ingot.ir.model import Model
from ingot.ops.catalog import Catalog
from ingot.passes.attention import recognise_attention
from ingot.passes.batched_transpose import unstack_transposes
from ingot.passes.bias import recover_bias
from ingot.passes.branches import settle_branches
from ingot.passes.counted_loops import count_loops
from ingot.passes.cse import share
from ingot.passes.dead import dead
from ingot.passes.fold import fold
from ingot.passes.growing import collect_growing_states
from ingot.passes.identity import skip
from ingot.passes.integer_products import integer_products
from ingot.passes.invariant_states import drop_invariant_states
from ingot.passes.join_codes import join_codes
from ingot.passes.levels import refuse_level
from ingot.passes.move_codes import move_codes
from ingot.passes.normalisation_folding import fold_scales
from ingot.passes.padding import absorb_padding
from ingot.passes.recognise import recognise
from ingot.passes.reshape import merge_views
from ingot.passes.sequences import sequences_to_tensors
from ingot.passes.shapes import known_integers
from ingot.passes.string_codes import encode_strings
from ingot.passes.string_labels import number_labels
from ingot.passes.transpose import cancel_transposes
from ingot.passes.upsampled_codes import spread_pixels
from ingot.passes.widen_attention import widen_attention

Pass: TypeAlias = Callable[[Model, Facts], int]
"""A pass edits a model by what is known of its values, and returns how much it changed; results stay the same."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A pass under the name that reports show, from `level` on; `session` is the level from which a session runs it.

    A pass that `needs_catalog` is called with it, by keyword. `in_session` is the same pass with other options. One
    that `changes_types` is of a session alone: it is called with the model, before types are inferred.
    """

    name: str
    run: Callable[..., int]
    level: int | None
    session: int | None = None
    needs_catalog: bool = False
    in_session: Callable[..., int] | None = None
    changes_types: bool = False


PIPELINE = (
    Entry("drop invariant states", drop_invariant_states, None, session=1, changes_types=True),
    Entry("count loops", count_loops, None, session=1, changes_types=True),
    Entry("read sequences as tensors", sequences_to_tensors, None, session=1, needs_catalog=True, changes_types=True),
    Entry("collect growing states", collect_growing_states, None, session=1, needs_catalog=True, changes_types=True),
    Entry("number string labels", number_labels, None, session=1, changes_types=True),
    Entry("encode strings", encode_strings, None, session=1, changes_types=True),
    Entry("skip nodes that change nothing", skip, 1),
    Entry("evaluate shape arithmetic", known_integers, 1, session=1),
    Entry("fold constants", fold, 1, session=1, needs_catalog=True, in_session=partial(fold, constant_nodes=False)),
    Entry("settle branches", settle_branches, 1),
    Entry("share common subexpressions", share, 1, needs_catalog=True),
    Entry("unstack transposes", unstack_transposes, 1),
    Entry("cancel transposes", cancel_transposes, 1),
    Entry("merge reshapes", merge_views, 1),
    Entry("remove dead code", dead, 0),
    Entry("recognise operators", recognise, 2),
    Entry("recognise attention", recognise_attention, 2),
    Entry("move codes instead of what they stand for", move_codes, None, session=2),
    Entry("join codes instead of what they stand for", join_codes, None, session=2),
    Entry("spread pixels of dequantised tensors", spread_pixels, None, session=2),
    Entry("multiply codes of dequantised tensors", integer_products, None, session=2),
    Entry("compute attention in float32", widen_attention, None, session=2),
    Entry("absorb padding", absorb_padding, 2, session=2),
    # in a session, a product of matrices scales its sums for nothing; to scale its weights takes reading them all
    Entry(
        "fold scales into weights", fold_scales, 2, session=2,
        in_session=partial(fold_scales, into=("Conv", "ConvTranspose")),
    ),
    Entry("recover biases", recover_bias, 2),
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
