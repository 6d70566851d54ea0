"""Checking what a node is given against the signature of its operator: how many, and of which types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.errors import CheckError
from ingot.ir.node import Node
from ingot.ir.types import TensorType
from ingot.ir.value import Value
from ingot.ops.counts import input_errors, output_count_errors
from ingot.ops.define import Formal, Operator
from ingot.ops.facts import Fact
from ingot.ops.typesets import name_of


def check_inputs(operator: Operator, node: Node, inputs: Sequence[Fact], version: int) -> None:
    """CheckError if there are too few or too many inputs or outputs, or one is of a type the operator does not take."""
    kinds = [_kind(value, fact) for value, fact in zip(node.inputs, inputs, strict=True)]
    signature = version, len(node.outputs), *kinds
    if signature in operator.accepted:
        return
    for error in signature_errors(operator, node, inputs, version):
        raise error
    operator.accepted.add(signature)


def _kind(value: Value | None, fact: Fact) -> tuple[object, ...] | None:
    """All that signatures look at in an input."""
    if value is None:
        return None
    type_ = fact.type
    return fact.present, type_.dtype if type(type_) is TensorType else type_ and name_of(type_)


def signature_errors(operator: Operator, node: Node, inputs: Sequence[Fact], version: int) -> Iterator[CheckError]:
    """Everything that is wrong with how many inputs and outputs a node has, what it omits, and their types."""
    name = versioned(operator, version)
    yield from input_errors(operator, node, version, name)
    yield from output_count_errors(operator, node, version, name)
    bound: dict[str, tuple[str, str]] = {}
    for index, fact in enumerate(inputs):
        parameter = _formal_at(operator.inputs, index)
        if parameter is None or fact.type is None or not fact.present:
            continue
        actual = name_of(fact.type)
        if "undefined" in actual or "?" in actual:
            continue
        expected = parameter.types.at(version)
        if actual not in expected:
            yield CheckError(f"{parameter.name} is {actual}; {name} takes {_shown(expected)} there")
            continue
        variable = parameter.types.name
        if variable and not parameter.heterogeneous:
            other = bound.setdefault(variable, (parameter.name, actual))
            if other[1] != actual:
                yield CheckError(
                    f"{other[0]} is {other[1]} and {parameter.name} is {actual}; {name} takes one type for both",
                    hint="put a Cast before one of them",
                )


def missing_outputs(operator: Operator, node: Node, version: int) -> Iterator[CheckError]:
    """What the standard asks of a node beside what is needed to run it: all outputs that are not optional."""
    here = [formal for formal in operator.outputs if formal.since <= version]
    least = sum(not formal.optional and not formal.variadic for formal in here)
    if 0 < len(node.outputs) < least:
        yield CheckError(
            f"{versioned(operator, version)} has {least} outputs, the node has {len(node.outputs)}",
            hint="name one that is not wanted with the empty name",
        )


def output_errors(operator: Operator, node: Node, inputs: Sequence[Fact], version: int) -> Iterator[CheckError]:
    """Outputs declared as a type that the operator does not give, or not for what it is given."""
    bound: dict[str, str] = {}
    for index, fact in enumerate(inputs):
        formal = _formal_at(operator.inputs, index)
        if formal is not None and fact.type is not None and fact.present and not formal.heterogeneous:
            bound.setdefault(formal.types.name, name_of(fact.type))
    for index, value in enumerate(node.outputs):
        formal = _formal_at(operator.outputs, index)
        if formal is None or value.type is None or formal.heterogeneous:
            continue
        declared = name_of(value.type)
        if "undefined" in declared or "?" in declared:
            continue
        bound_type = bound.get(formal.types.name) if formal.types.name else None
        bound_type = None if bound_type is None or "undefined" in bound_type or "?" in bound_type else bound_type
        if declared not in formal.types.at(version) or declared != (bound_type or declared):
            wanted = bound_type or _shown(formal.types.at(version))
            yield CheckError(f"'{value.name}' is declared {declared}; {versioned(operator, version)} gives {wanted}")


def effective(operator: Operator, version: int) -> int:
    """The version of an operator that an import of `version` means."""
    return max((since for since in operator.since if since <= version), default=operator.version)


def versioned(operator: Operator, version: int) -> str:
    """`MatMul-9`: the operator, and the version of it that an import of `version` means."""
    return f"{operator.name}-{effective(operator, version)}"


def _formal_at(formals: Sequence[Formal], index: int) -> Formal | None:
    if index < len(formals):
        return formals[index]
    return formals[-1] if formals and formals[-1].variadic else None


def _shown(names: frozenset[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:8]) + (f" and {len(ordered) - 8} more" if len(ordered) > 8 else "")
