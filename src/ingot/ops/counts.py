"""How many inputs and outputs a node has, and which it omits, against the signature of its operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingot.errors import CheckError
from ingot.ir.node import Node
from ingot.ops.define import Formal, Operator


def input_errors(operator: Operator, node: Node, version: int, name: str) -> Iterator[CheckError]:
    """What is wrong with how many inputs a node has and what it omits; `name` is how errors call the operator."""
    yield from _count_errors(operator.inputs, _counted(operator, node), version, f"{name} takes", "inputs")
    for formal, value in zip(operator.inputs, node.inputs[: _argument_count(node)], strict=False):
        if value is None and not formal.optional and not formal.variadic:
            yield CheckError(f"{name} needs input '{formal.name}', the node omits it")


def output_count_errors(operator: Operator, node: Node, version: int, name: str) -> Iterator[CheckError]:
    """What is wrong with how many outputs a node has: none, or more than the operator has."""
    yield from _count_errors(operator.outputs, len(node.outputs), version, f"{name} has", "outputs")


def _counted(operator: Operator, node: Node) -> int:
    """How many inputs a node has, without those it omits at the end, if it names no more than there are."""
    return _argument_count(node) if len(node.inputs) <= len(operator.inputs) else len(node.inputs)


def _argument_count(node: Node) -> int:
    count = len(node.inputs)
    while count and node.inputs[count - 1] is None:
        count -= 1
    return count


def _count_errors(formals: Sequence[Formal], count: int, version: int, says: str, what: str) -> Iterator[CheckError]:
    here = [formal for formal in formals if formal.since <= version]
    variadic = bool(here) and here[-1].variadic
    needed = [not formal.optional and not formal.variadic for formal in here]
    least = max((index + 1 for index, need in enumerate(needed) if need), default=0)
    if variadic and here[-1].at_least:
        least = len(here) - 1 + here[-1].at_least
    if what == "outputs":
        least = min(least, 1)
    if count < least or (count > len(here) and not variadic):
        wanted = f"at least {least}" if variadic else f"{least} to {len(here)}" if least < len(here) else str(least)
        yield CheckError(f"{says} {wanted} {what}, the node has {count}")
