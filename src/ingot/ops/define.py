"""`@operator` turns one numpy function into one ONNX operator: its signature is the schema.

Positional-only parameters are inputs (`= None` makes one optional, `*xs` variadic), keyword-only parameters are
attributes with their defaults, the return annotation gives the outputs (`X | None` one that need not be asked for,
`tuple[X, ...]` any number). Annotations carry the type sets.
"""

from __future__ import annotations

import inspect
import types as python_types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Protocol, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array
from ingot.ir import AttributeKind, Graph, SparseTensor, Tensor
from ingot.ir.domains import canonical, spelled_out
from ingot.ir.types import Type
from ingot.ir.value import Value
from ingot.ops.typesets import TypeSet

Rule: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Since:
    """Marks an input, an output or an attribute that a later version of the operator brought."""

    version: int


@dataclass(frozen=True, slots=True)
class Until:
    """Marks an attribute that a version of the operator still had and the next has not."""

    version: int


@dataclass(frozen=True, slots=True)
class Heterogeneous:
    """Marks a variadic parameter each of whose values may have a type of its own."""


@dataclass(frozen=True, slots=True)
class AtLeast:
    """How many values a variadic parameter takes at least, one by default."""

    count: int


@dataclass(frozen=True, slots=True)
class Formal:
    """An input or an output of an operator."""

    name: str
    types: TypeSet
    optional: bool = False
    variadic: bool = False
    heterogeneous: bool = False
    at_least: int = 1
    since: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """An attribute of an operator: `required` has no default, and an optional one may have none either."""

    name: str
    kind: AttributeKind
    default: Any = None
    required: bool = False
    since: int = 0
    until: int | None = None

    def exists_at(self, version: int) -> bool:
        return self.since <= version and (self.until is None or version <= self.until)


@dataclass(frozen=True, slots=True)
class Runs:
    """The results of runs of the body of a loop: the condition and the states after the last of them.

    `rows` are what each run gave of the outputs that are collected, by their places, along a first axis.
    """

    count: int
    states: Sequence[Any]
    rows: Mapping[int, Array]


class Runtime(Protocol):
    """What a function may ask of whoever evaluates it; a parameter annotated with this class is no attribute."""

    @property
    def wanted(self) -> tuple[bool, ...]:
        """For each output of the node, whether somebody reads it."""

    def run(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        """The outputs of a graph that an attribute holds, for these inputs; it may read the values around the node."""

    def repeat(self, graph: Graph, first: int, most: int, conditional: bool, states: Sequence[Any]) -> Runs | None:
        """Runs of the body of a Loop one after the other, from run number `first` on, at most so many of them.

        `states` are the condition and the states before them. There may be fewer; if `conditional`, none follows one
        that gives a false condition. None if the body has to be run by `run`.
        """

    def around(self, graph: Graph) -> list[tuple[Value, tuple[int, ...]]]:
        """The tensors around the node that its graph reads, and their shapes."""

    def gradient(self, xs: Sequence[str], y: str, values: Mapping[str, Any]) -> list[Any]:
        """The derivative of value `y` of the main graph by each of `xs`, computed anew from `values` by name."""

    def key(self, seed: float | None) -> int:
        """The key of the random numbers of this node (`ops/generator/keys.py`): that of its seed, else of the run."""

    def generator(self, seed: float | None) -> np.random.Generator:
        """The source of random numbers of this node: the same for the same seed, model and run."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The schema in a function's parameters and annotations; `runtime` names its `Runtime` parameter, if it has one."""

    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    attributes: dict[str, Parameter]
    keywords: dict[str, str]
    runtime: str | None


class Operator:
    """Everything ingot knows about one meaning of one operator, in the versions that share it."""

    __slots__ = (
        "_asked",
        "_defaults",
        "_signature",
        "accepted",
        "deprecated",
        "domain",
        "evaluate",
        "name",
        "rules",
        "since",
        "size_inputs",
    )

    def __init__(self, name: str, domain: str, since: tuple[int, ...], evaluate: Rule, deprecated: bool) -> None:
        """An operator; its function is read when that is first asked for: most are of no use to a model."""
        self.name = name
        self.domain = canonical(domain)
        self.since = since
        self.evaluate = evaluate
        self.deprecated = deprecated
        self.rules: dict[str, Rule] = {}
        self.size_inputs: tuple[str, ...] = ()
        """The inputs of natural numbers that sizes of results follow from."""
        self._signature: Signature | None = None
        self._defaults: dict[str, Any] | None = None
        self.accepted: set[tuple[Any, ...]] = set()
        """Versions and types of inputs that were found to be right; for who checks nodes."""
        self._asked: dict[str, set[str]] = {}
        """The parameters of rules, by kind, that are no attributes."""

    @property
    def signature(self) -> Signature:
        """The schema that the function declares; TypeError if it is none."""
        if self._signature is None:
            self._signature = _signature(self.name, self.evaluate)
        return self._signature

    @property
    def inputs(self) -> tuple[Formal, ...]:
        return self.signature.inputs

    @inputs.setter
    def inputs(self, inputs: tuple[Formal, ...]) -> None:
        self._signature = replace(self.signature, inputs=inputs)
        self.accepted.clear()

    @property
    def outputs(self) -> tuple[Formal, ...]:
        return self.signature.outputs

    @property
    def attributes(self) -> dict[str, Parameter]:
        return self.signature.attributes

    @property
    def keywords(self) -> dict[str, str]:
        """The parameter of the function for each attribute."""
        return self.signature.keywords

    @property
    def runtime(self) -> str | None:
        return self.signature.runtime

    @property
    def returns_several(self) -> bool:
        """Whether its function returns a sequence of results, even if there is only one."""
        return len(self.outputs) != 1 or self.outputs[0].variadic

    @property
    def version(self) -> int:
        """The newest version with this meaning."""
        return self.since[-1]

    @property
    def defaults(self) -> dict[str, Any]:
        """The keyword arguments of a rule for a node that sets no attribute, but for those it must set."""
        if self._defaults is None:
            optional = (parameter for parameter in self.attributes.values() if not parameter.required)
            self._defaults = {self.keywords[parameter.name]: parameter.default for parameter in optional}
        return self._defaults.copy()

    @property
    def documentation(self) -> str:
        return inspect.getdoc(self.evaluate) or ""

    def infer(self, rule: Rule) -> Rule:
        """Attach the inference rule: types and shapes of the outputs from facts of the inputs."""
        return self._attach("infer", rule)

    def body(self, rule: Rule) -> Rule:
        """Attach the inference rule for the inputs of the operator's subgraphs, where they declare no types."""
        return self._attach("body", rule)

    def upgrade(self, rule: Rule) -> Rule:
        """Attach the rewrite of this meaning in newer operators."""
        return self._attach("upgrade", rule)

    def downgrade(self, rule: Rule) -> Rule:
        """Attach the rewrite of this meaning in older operators, all of version `version` (passed on request).

        It is called for the version before the first with this meaning, and for one before that takes less, such as
        fewer types, and cannot have the node as it is.
        """
        return self._attach("downgrade", rule)

    def lower(self, rule: Rule) -> Rule:
        """Attach the lowering of this meaning to primitives."""
        return self._attach("lower", rule)

    def bind(self, rule: Rule) -> Rule:
        """Attach what runs of one node share: a function of its attributes that returns that of its inputs."""
        return self._attach("bind", rule)

    def sized_by(self, *inputs: str) -> None:
        """State the inputs of natural numbers that sizes of results follow from, by their parameters.

        Where a run computes them, they are read as sizes: `lower` gets names in the place of their elements, and the
        types that `infer` finds for these.
        """
        self.size_inputs = inputs

    def gradient(self, rule: Rule) -> Rule:
        """Attach a gradient of its own, where that of the primitives is unstable or costly."""
        return self._attach("gradient", rule)

    def apply(self, kind: str, arguments: Sequence[Any], named: dict[str, Any], **context: Any) -> tuple[Any, ...]:
        """The results of a rule, one an output; entries of `context` are passed if the rule has parameters for them."""
        asked = self._asked_by(kind)
        if asked:
            named = {**named, **{name: context[name] for name in context if name in asked}}
        answer = self.rules[kind](*arguments, **named)
        return tuple(answer) if isinstance(answer, tuple | list) else (answer,)

    def takes(self, kind: str, name: str) -> bool:
        """Whether a rule has a parameter of that name, which is no attribute."""
        return name in self._asked_by(kind)

    def _asked_by(self, kind: str) -> Collection[str]:
        """The parameters of a rule that are no attributes."""
        asked = self._asked.get(kind)
        if asked is None:
            asked = self._asked[kind] = inspect.signature(self.rules[kind]).parameters.keys() - self.keywords.values()
        return asked

    def _attach(self, kind: str, rule: Rule) -> Rule:
        if kind in self.rules:
            raise TypeError(f"{self.name}-{self.version} already has a rule to {kind}")
        self.rules[kind] = rule
        return rule

    def __repr__(self) -> str:
        return f"<Operator {spelled_out(self.domain)}.{self.name}-{self.version}>"


def operator(
    name: str, *, since: int | Sequence[int], domain: str = "", deprecated: bool = False
) -> Callable[[Rule], Operator]:
    """Make a function an operator; `since` lists the versions whose meaning it is, oldest first.

    TypeError if the signature is no schema.
    """
    versions = (since,) if isinstance(since, int) else tuple(since)

    def define(evaluate: Rule) -> Operator:
        _round_defaults(evaluate)
        defined = Operator(name, domain, versions, evaluate, deprecated)
        if not evaluate.__module__.startswith(_OWN):
            defined.signature  # noqa: B018  # raises TypeError where the function is written
        return defined

    return define


_OWN = "ingot.ops."
"""Where operators are whose functions tests have read."""


def _signature(name: str, evaluate: Rule) -> Signature:
    hints = get_type_hints(evaluate, include_extras=True)
    inputs: list[Formal] = []
    attributes: dict[str, Parameter] = {}
    keywords: dict[str, str] = {}
    runtime: str | None = None
    for parameter in inspect.signature(evaluate).parameters.values():
        hint = hints.get(parameter.name)
        if hint is None:
            raise TypeError(f"{name}: parameter '{parameter.name}' has no annotation")
        if hint is Runtime:
            runtime = parameter.name
        elif parameter.kind is parameter.KEYWORD_ONLY:
            attribute = _attribute(name, parameter, hint)
            attributes[attribute.name] = attribute
            keywords[attribute.name] = parameter.name
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            variadic = parameter.kind is parameter.VAR_POSITIONAL
            inputs.append(_formal(name, parameter.name, hint, parameter.default is None, variadic))
        else:
            raise TypeError(f"{name}: '{parameter.name}' is neither positional-only nor keyword-only")
    return Signature(tuple(inputs), _outputs(name, hints.get("return")), attributes, keywords, runtime)


def _round_defaults(evaluate: Rule) -> None:
    """Make the defaults of float attributes what a file would hold: the nearest float32."""
    defaults = getattr(evaluate, "__kwdefaults__", None)
    if defaults:
        rounded = {name: float(np.float32(v)) if isinstance(v, float) else v for name, v in defaults.items()}
        evaluate.__kwdefaults__ = rounded


def superseded() -> AssertionError:
    """What the body of an old meaning raises: it is upgraded before a model runs, and never evaluated."""
    return AssertionError("an old meaning of an operator was evaluated; it should have been upgraded")


def _formal(operator: str, name: str, hint: Any, optional: bool, variadic: bool) -> Formal:
    plain, marks = _unwrap(hint)
    sets = [mark for mark in marks if isinstance(mark, TypeSet)]
    if len(sets) != 1:
        raise TypeError(f"{operator}: '{name}' is annotated with {len(sets)} type sets: {plain}")
    least = next((mark.count for mark in marks if isinstance(mark, AtLeast)), 1)
    since = next((mark.version for mark in marks if isinstance(mark, Since)), 0)
    mixed = any(isinstance(mark, Heterogeneous) for mark in marks)
    return Formal(name, sets[0], optional, variadic, mixed, least, since)


def _outputs(operator: str, hint: Any) -> tuple[Formal, ...]:
    if hint is None or hint is type(None):
        return ()
    if get_origin(hint) is Annotated and get_origin(get_args(hint)[0]) is tuple:
        inner, marks = get_args(hint)[0], get_args(hint)[1:]
        return (_formal(operator, "outputs", Annotated[get_args(inner)[0], *marks], False, True),)
    if get_origin(hint) is not tuple:
        return (_formal(operator, "output", hint, _is_optional(hint), False),)
    parts = get_args(hint)
    if len(parts) == 2 and parts[1] is Ellipsis:
        return (_formal(operator, "outputs", parts[0], False, True),)
    return tuple(_formal(operator, f"output_{i}", part, _is_optional(part), False) for i, part in enumerate(parts))


_KINDS: dict[Any, AttributeKind] = {
    int: AttributeKind.INT,
    bool: AttributeKind.INT,
    float: AttributeKind.FLOAT,
    str: AttributeKind.STRING,
    Tensor: AttributeKind.TENSOR,
    SparseTensor: AttributeKind.SPARSE_TENSOR,
    Graph: AttributeKind.GRAPH,
    Type: AttributeKind.TYPE,
}


def _attribute(operator: str, parameter: inspect.Parameter, hint: Any) -> Parameter:
    plain, marks = _unwrap(hint)
    kind = _KINDS.get(plain)
    if kind is None and get_origin(plain) in (list, tuple, Sequence):
        element = _KINDS.get(get_args(plain)[0])
        kind = None if element is None else element.plural
    if kind is None:
        raise TypeError(f"{operator}: attribute '{parameter.name}' cannot be of type {plain}")
    required = parameter.default is parameter.empty
    since = next((mark.version for mark in marks if isinstance(mark, Since)), 0)
    until = next((mark.version for mark in marks if isinstance(mark, Until)), None)
    default = None if required else parameter.default
    return Parameter(parameter.name.rstrip("_"), kind, default, required, since, until)


def _unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The plain type and all marks of an annotation, `| None` taken off."""
    marks: tuple[Any, ...] = ()
    while True:
        if get_origin(hint) is Annotated:
            hint, *annotations = get_args(hint)
            marks += tuple(annotations)
        elif _is_optional(hint) and hint != Type:
            arms = [arm for arm in get_args(hint) if arm is not type(None)]
            hint = arms[0] if len(arms) == 1 else Union[tuple(arms)]  # noqa: UP007
        else:
            return hint, marks


def _is_optional(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _is_optional(get_args(hint)[0])
    return get_origin(hint) in (Union, python_types.UnionType) and type(None) in get_args(hint)
