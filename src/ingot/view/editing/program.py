"""The program that makes the same edits: what the page shows to be copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ingot.dataclass import dataclass
from ingot.dtypes import Array, DType
from ingot.ir.types import TensorType
from ingot.source.literals import is_of_numpy, number_literal, numpy_name, quoted
from ingot.view.editing.edits import (
    AddOutput,
    ApplyPass,
    CutOut,
    Delete,
    Edit,
    FillWeight,
    Insert,
    Named,
    Place,
    RemoveOutput,
    RenameNode,
    RenameValue,
    Rewire,
    SetAttribute,
    SetOperator,
    SetType,
    SetWeight,
)
from ingot.view.editing.passes import PASSES

ARRAYS = "edits.npz"
"""The file of arrays that are too long for a program."""

_MOST_INLINE = 64


@dataclass(frozen=True, slots=True)
class Program:
    """The text of a program, a description of each edit, and the arrays that it reads from `ARRAYS`."""

    text: str
    steps: tuple[str, ...]
    arrays: dict[str, Array]


def program(edits: Sequence[Edit], source: str, target: str) -> Program:
    """The program that loads `source`, makes the edits and saves `target`."""
    writer = _Writer({})
    bodies = [writer.lines(edit) for edit in edits]
    lines = [f"model = ingot.load({quoted(source)})"]
    if writer.arrays:
        lines.append(f"arrays = np.load({quoted(ARRAYS)})")
    lines += ["", *(line for body in bodies for line in body), "", f"ingot.save(model, {quoted(target)})", ""]
    used = "\n".join(line for body in bodies for line in body)
    heading = [f"import {name}" for name in ("ml_dtypes",) if f"{name}." in used]
    heading += ["import numpy as np"] if "np." in used or writer.arrays else []
    heading += [""] if heading else []
    heading.append("import ingot")
    names = [name for name in ("Attribute", "AttributeKind", "Node") if f"{name}(" in used or f"{name}." in used]
    heading += [f"from ingot import {', '.join(names)}"] if names else []
    heading += ["from ingot.ir.model import FunctionId"] if "FunctionId(" in used else []
    return Program("\n".join([*heading, "", *lines]), tuple("; ".join(body) for body in bodies), writer.arrays)


@dataclass(frozen=True, slots=True)
class _Writer:
    arrays: dict[str, Array]

    def lines(self, edit: Edit) -> list[str]:
        """The statements that make an edit."""
        match edit:
            case RenameValue(Place(None), value, name):
                return [f"ingot.rename(model, {{{quoted(value)}: {quoted(name)}}})"]
            case RenameValue(place, value, name):
                return [f"{_value(place, value)}.name = {quoted(name)}"]
            case RenameNode(place, value, name):
                return [f"{_value(place, value)}.producer.name = {quoted(name)}"]
            case Delete(place, value):
                return [f"ingot.bypass({_value(place, value)}.producer)"]
            case Insert():
                return _insert(edit)
            case Rewire(place, value, index, source):
                other = "None" if source is None else _named(source)
                return [f"ingot.rewire({_value(place, value)}.producer, {index}, {other})"]
            case SetOperator(place, value, operator, domain):
                node = f"{_value(place, value)}.producer"
                return [f"{node}.op_type, {node}.domain = {quoted(operator)}, {quoted(domain)}"]
            case SetAttribute():
                return _set_attribute(edit)
            case SetWeight(place, value, array):
                return [f"ingot.set_constant({_value(place, value)}, {self._array(value, array)})"]
            case FillWeight(place, value, number, shape, dtype):
                full = f"np.full({tuple(shape)}, {number_literal(number)}, {numpy_name(dtype)})"
                return [f"ingot.set_constant({_value(place, value)}, {full})"]
            case SetType(value, type_):
                assert isinstance(type_, TensorType)
                return [f"ingot.set_type(model, {quoted(value)}, {quoted(str(type_))})"]
            case AddOutput(value):
                return [f"ingot.add_outputs(model, [{quoted(value)}])"]
            case RemoveOutput(value):
                return [f"ingot.remove_outputs(model, [{quoted(value)}])"]
            case CutOut(inputs, outputs):
                start = f"{_list(inputs)}, {_list(outputs)}" if inputs else f"outputs={_list(outputs)}"
                return [f"model = ingot.extract(model, {start})"]
            case ApplyPass(name):
                return [PASSES[name].line]

    def _array(self, name: str, array: Array) -> str:
        """An expression for an array: its elements, or a place in the file of arrays."""
        dtype = DType.of(array.dtype)
        plain = array if is_of_numpy(dtype) else array.astype(np.int64 if dtype.is_integer else np.float32)
        if array.size <= _MOST_INLINE and array.dtype.kind != "c":
            return f"np.array({_nested(plain.tolist(), plain)}, {numpy_name(dtype)})"
        key = f"{len(self.arrays)}_{''.join(c if c.isalnum() else '_' for c in name)[:40]}"
        self.arrays[key] = plain
        return f"arrays[{quoted(key)}]" + ("" if plain is array else f".astype({numpy_name(dtype)})")


def _insert(edit: Insert) -> list[str]:
    others = "".join(f", {_named(named)}" for named in edit.inputs)
    attributes = ", ".join(f"{quoted(name)}: {_literal(value)}" for name, value in edit.attributes)
    parts = [quoted(edit.operator), f"[value{others}]", f"[{quoted(edit.output)}]"]
    parts += [f"{{{attributes}}}"] if attributes else []
    parts += [f"domain={quoted(edit.domain)}"] if edit.domain else []
    return [f"value = {_value(edit.place, edit.value)}", f"ingot.insert_after(value, Node({', '.join(parts)}))"]


def _set_attribute(edit: SetAttribute) -> list[str]:
    node = f"{_value(edit.place, edit.value)}.producer"
    if edit.literal is None:
        return [f"del {node}[{quoted(edit.name)}]"]
    value = _literal(edit.literal)
    if edit.kind:
        value = f"Attribute({quoted(edit.name)}, {value}, AttributeKind.{edit.kind})"
    return [f"{node}[{quoted(edit.name)}] = {value}"]


def _value(place: Place, value: str) -> str:
    graph = "model.graph"
    if place.function is not None:
        graph = f"model.functions[FunctionId({', '.join(map(quoted, place.function))})].graph"
    for node, attribute, index in place.inside:
        graph += f".value({quoted(node)}).producer.attributes[{quoted(attribute)}].graphs[{index}]"
    return f"{graph}.value({quoted(value)})"


def _named(named: Named) -> str:
    return _value(named.place, named.value)


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(quoted, names))}]"


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return quoted(value) if isinstance(value, str) else number_literal(value)


def _nested(elements: Any, array: Array) -> str:
    if isinstance(elements, list):
        return f"[{', '.join(_nested(element, array) for element in elements)}]"
    return quoted(elements) if isinstance(elements, str) else number_literal(array.dtype.type(elements))
