"""A random model on the provider `cpu` against the reference: how often it ran, and what is wrong if anything is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ingot.codegen.llvm import templates
from ingot.dtypes import Array
from ingot.errors import CheckError, InputError
from ingot.infer import infer
from ingot.ir import Model, Value
from ingot.passes.optimise import optimise
from ingot.session import Session
from lower.random_graphs import Drawn
from lower.rounding import Floats, bounds

LOOSER = 8
"""How much further apart results may be where passes change what is rounded: each of them is two or three nodes."""


@dataclass(slots=True)
class Tally:
    """What was compared."""

    graphs: int = 0
    nodes: int = 0
    calls: int = 0
    """Nodes that the reference ran."""
    runs: int = 0
    refused: int = 0
    """Runs that both sides refused."""
    spared: dict[str, int] = field(default_factory=dict)
    """What the reference said where the compiled model went without what is wrong in it."""
    elements: int = 0
    same: int = 0
    """Elements that hold the bits of the reference."""
    vague: int = 0
    """Elements of which nothing could be said."""
    optimised: int = 0
    """Runs of the model optimised, at any level."""
    reasons: dict[str, int] = field(default_factory=dict)
    operators: dict[str, int] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    """Results of nodes by element type."""
    sizes: dict[str, int] = field(default_factory=dict)
    """What names of sizes were bound to."""
    ratios: dict[str, float] = field(default_factory=dict)
    """By element type, the largest distance as a part of what is allowed."""
    vague_since: dict[str, int] = field(default_factory=dict)
    """Elements of values that became vague, by the operator that made them so."""

    def add(self, other: Mapping[str, Any]) -> None:
        """Take another one in, as a mapping of its fields, any of which may be missing."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), other.get(each.name, 0)
            if not isinstance(mine, dict):
                setattr(self, each.name, mine + theirs)
                continue
            for key, number in (theirs or {}).items():
                mine[key] = max(mine.get(key, 0), number) if each.name == "ratios" else mine.get(key, 0) + number


_LEVELS = (2, 0, 2, 1)
"""How far models are optimised before they are compiled, by seed in turn."""


def check(
    drawn: Drawn, tally: Tally, levels: Sequence[int] = (1, 2), providers: Sequence[Any] = ("cpu", "reference")
) -> None:
    """AssertionError where the compiled model is not what the reference is.

    Results are within the bound of `rounding`, the same bits from run to run and for one thread and two, and no size
    has anything compiled again unless a guard fails, or a rank was unknown, but on a GPU. So are those of the model
    optimised; level 2 where no decision hangs on a rounding. A model drawn by declarations that do not hold may be
    none: it is refused.
    """
    try:
        reference = Session(drawn.model, providers=("reference",))
    except CheckError:
        assert not drawn.declared, "declarations that hold make a model"
        tally.add({"graphs": 1, "refused": 1})
        return
    way: dict[str, Any] = {"providers": providers, "fallback": False, "optimise": _LEVELS[drawn.seed % len(_LEVELS)]}
    sessions = [Session(drawn.model, threads=n, **way) for n in (1, 2)]
    optimised = [(level, _optimised(drawn.model, level)) for level in levels if takes(drawn, level)]
    tally.add({"graphs": 1, "nodes": len(drawn.model.graph.nodes), **_kinds(drawn.model)})
    compiled = sessions[0].compiled
    assert compiled is not None
    calls = Counter(f"{node.op_type}: {call.reason}" for node, call in compiled.program.calls.items())
    tally.add({"calls": calls.total(), "reasons": calls})
    codes = len(templates.TEMPLATES)
    for sizes in drawn.bindings:
        feeds = drawn.feeds(sizes)
        tally.add({"runs": 1, "sizes": Counter(str(size) for size in sizes.values())})
        expected = _outcome(reference, feeds)
        found = [_outcome(session, feeds) for session in (*sessions, sessions[1])]
        if isinstance(expected, str):
            tally.refused += 1
            taken = not all(isinstance(each, str) for each in found)
            tally.add({"spared": {expected.split("\n")[0]: 1} if taken else {}})
            assert not taken or _spared(drawn.model, feeds), f"{sizes}: the reference refuses: {expected}"
            codes = len(templates.TEMPLATES)
            continue
        values = _values(reference, feeds)
        exact = bounds(reference.typed.model, values)
        tally.add({"vague_since": _vague_since(reference.typed.model, exact)})
        for number, results in enumerate(found):
            assert not isinstance(results, str), f"{sizes}: {results}"
            _same(reference.typed.model, exact, expected, results, f"{sizes}", tally if number == 0 else Tally())
            other = ("", "with two threads", "in another run")[number]
            assert _bits(results) == _bits(found[0]), f"{sizes}: other bits {other}"
        for level, session in optimised:
            results = _outcome(session, feeds)
            tally.optimised += 1
            assert not isinstance(results, str), f"{sizes}, level {level}: {results}"
            if level < 2:
                _same(reference.typed.model, exact, expected, results, f"{sizes}, level {level}", Tally())
            else:
                loose = {
                    value: LOOSER * each for value, each in bounds(reference.typed.model, values, nearest=False).items()
                }
                _same(reference.typed.model, loose, expected, results, f"{sizes}, level {level}", Tally())
    every = (*sessions, *(session for _, session in optimised))
    again = any(session._plans.variants.has_compiled or session._plans.typed_plans.has_compiled for session in every)
    by_need = "cuda" in providers  # a function of a product is compiled when sizes choose it first
    assert again or by_need or len(templates.TEMPLATES) == codes, "something was compiled for other sizes"


def takes(drawn: Drawn, level: int) -> bool:
    """Whether passes of a level may change a model, and are given one whose declarations hold."""
    return drawn.declared and (level < 2 or drawn.smooth)


def _kinds(model: Model) -> dict[str, Any]:
    """How many nodes there are of each operator, and results of each element type."""
    made = [fact.dtype for value, fact in infer(model.copy(), overrule=True).items() if value.producer is not None]
    return {
        "operators": Counter(node.op_type for node in model.graph),
        "types": Counter(str(dtype) for dtype in made if dtype is not None),
    }


def _vague_since(model: Model, found: Mapping[Value, Floats]) -> Counter[str]:
    """How many elements are vague of nodes that were given nothing vague."""
    origins: Counter[str] = Counter()
    for node in model.graph:
        if not any(np.isinf(found[value]).any() for value in node.inputs if value is not None):
            origins[node.op_type] += sum(int(np.count_nonzero(np.isinf(found[value]))) for value in node.outputs)
    return +origins


def _spared(model: Model, feeds: dict[str, Array]) -> bool:
    """Whether what the reference refuses is nothing that the outputs need.

    That is: the compiled model refuses it too when everything is an output.
    """
    copy = model.copy()
    for node in copy.graph:
        copy.graph.outputs.extend(value for value in node.outputs if not value.is_output)
    return isinstance(_outcome(_optimised(copy, 0), feeds), str)


def wrong(model: Model, feeds: dict[str, Array], level: int = 0) -> str | None:
    """What is wrong with one run of a compiled model, optimised to a level; None if nothing is."""
    reference = Session(model, providers=("reference",))
    expected = _outcome(reference, feeds)
    try:
        session = _optimised(model, level)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    found = _outcome(session, feeds)
    if isinstance(expected, str) or isinstance(found, str):
        same = isinstance(expected, str) and isinstance(found, str)
        return None if same else f"for {str(expected)[:200]} there is {str(found)[:200]}"
    try:
        allowed = bounds(reference.typed.model, _values(reference, feeds), nearest=level < 2)
        if level == 2:
            allowed = {value: LOOSER * each for value, each in allowed.items()}
        _same(reference.typed.model, allowed, expected, found, "", Tally())
    except AssertionError as error:
        return str(error)
    return None


def _optimised(model: Model, level: int) -> Session:
    copy = model.copy()
    if level:
        optimise(copy, level)
    return Session(copy, providers=("cpu", "reference"), threads=2, fallback=False)


def _outcome(session: Session, feeds: dict[str, Array]) -> list[Any] | str:
    try:
        return session.run(None, feeds)
    except (InputError, CheckError) as error:
        return f"{type(error).__name__}: {error}"


def _values(session: Session, feeds: dict[str, Array]) -> dict[Value, Any]:
    """Everything the reference computes on the way."""
    graph = session.typed.model.graph
    inner = list(dict.fromkeys(value for node in graph for value in node.outputs))
    found: dict[Value, Any] = dict(zip(inner, session.run([value.name for value in inner], feeds), strict=True))
    found.update({value: feeds[value.name] for value in graph.inputs})
    found.update({value: value.constant.numpy() for value in graph.initializers.values()})  # type: ignore[union-attr]
    return found


def _same(
    model: Model, bound: dict[Value, Floats], expected: list[Any], results: list[Any], where: str, tally: Tally
) -> None:
    for value, one, other in zip(model.graph.outputs, expected, results, strict=True):
        name = f"{where}: output '{value.name}'"
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"{name}: {other.dtype}{list(other.shape)}"
        allowed = bound[value]
        vague = np.isinf(allowed)
        tally.elements += one.size
        tally.vague += int(np.count_nonzero(vague))
        if one.dtype.kind in "biu":
            wrong = one != other
            tally.same += int(np.count_nonzero(~wrong))
        else:
            a, b = one.astype(np.float64), other.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            tally.same += int(np.count_nonzero(same))
            with np.errstate(invalid="ignore"):
                apart = np.where(same | vague, 0, np.abs(a - b))
            wrong = ~(apart <= allowed)
            ratio = np.max(np.divide(apart, allowed, out=np.zeros(one.shape), where=apart > 0), initial=0)
            tally.add({"ratios": {str(one.dtype): float(ratio)}})
        if np.any(wrong):
            at = tuple(int(each) for each in np.argwhere(wrong)[0])
            many = int(np.count_nonzero(wrong))
            said = f"at {list(at)} {other[at]!r} for {one[at]!r}, which may be {allowed[at]:.3g} apart"
            raise AssertionError(f"{name}: {many} of {one.size} wrong, {said}")


def _bits(results: list[Any] | str) -> list[bytes]:
    """The bits of results, of those that are no numbers only where they are: nothing defines the sign of NaN."""
    assert not isinstance(results, str)
    bits = []
    for array in results:
        undefined = np.zeros(array.shape, bool) if array.dtype.kind in "biu" else np.isnan(array)
        bits.append(undefined.tobytes() + np.where(undefined, np.zeros((), array.dtype), array).tobytes())
    return bits
