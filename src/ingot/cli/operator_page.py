"""The page of one operator: its signature, what it means, its versions and its types."""

from __future__ import annotations

from collections.abc import Iterator

from ingot.ir.domains import spelled_out
from ingot.ops.catalog import Catalog
from ingot.ops.define import Formal, Operator, Parameter
from ingot.ops.describe import abbreviated


def operator_text(operator: Operator, catalog: Catalog) -> str:
    """Everything for people about the newest meaning of an operator, and which versions mean something else."""
    return "\n".join(_lines(operator, catalog)) + "\n"


def _lines(operator: Operator, catalog: Catalog) -> Iterator[str]:
    old = " (deprecated)" if operator.deprecated else ""
    yield f"{spelled_out(operator.domain)}.{operator.name}-{operator.version}{old}"
    yield f"  {_signature(operator)}"
    if operator.documentation:
        yield ""
        yield from (f"  {line}".rstrip() for line in operator.documentation.splitlines())
    for title, formals in (("inputs", operator.inputs), ("outputs", operator.outputs)):
        if formals:
            yield ""
            yield title
            width = max(len(formal.name) for formal in formals)
            yield from (f"  {formal.name:<{width}}  {_formal(formal, operator.version)}" for formal in formals)
    if operator.attributes:
        yield ""
        yield "attributes"
        width = max(map(len, operator.attributes))
        yield from (f"  {name:<{width}}  {_attribute(parameter)}" for name, parameter in operator.attributes.items())
    yield ""
    yield "versions"
    for meaning in reversed(catalog.versions(operator.domain, operator.name)):
        yield f"  {', '.join(map(str, meaning.since))}{_note(meaning, operator)}"


def _signature(operator: Operator) -> str:
    parameters = [_input(formal) for formal in operator.inputs]
    parameters += [name if parameter.required else f"{name}=" for name, parameter in operator.attributes.items()]
    results = ", ".join(f"*{f.name}" if f.variadic else f.name for f in operator.outputs)
    return f"{operator.name}({', '.join(parameters)}) -> {results or 'nothing'}"


def _input(formal: Formal) -> str:
    return f"*{formal.name}" if formal.variadic else f"{formal.name}?" if formal.optional else formal.name


def _formal(formal: Formal, version: int) -> str:
    notes = ["optional"] if formal.optional else []
    if formal.variadic:
        notes.append(f"{formal.at_least} or more" + (", each of its own type" if formal.heterogeneous else ""))
    notes += [f"since {formal.since}"] if formal.since else []
    variable = f"{formal.types.name}: " if formal.types.name else ""
    return f"{variable}{abbreviated(formal.types.at(version))}" + (f" ({', '.join(notes)})" if notes else "")


def _attribute(parameter: Parameter) -> str:
    notes = ["required"] if parameter.required else []
    notes += [f"since {parameter.since}"] if parameter.since else []
    notes += [f"until {parameter.until}"] if parameter.until is not None else []
    default = "" if parameter.default is None else f" = {_default(parameter.default)}"
    return f"{parameter.kind.name.lower()}{default}" + (f" ({', '.join(notes)})" if notes else "")


def _default(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.7g}"
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _note(meaning: Operator, newest: Operator) -> str:
    if meaning is newest:
        return ""
    return ": another meaning, which is upgraded" if "upgrade" in meaning.rules else ": another meaning"
