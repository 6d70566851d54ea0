"""The statements of one graph: a line or so a node, and a loop for blocks that repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from ingot.dataclass import dataclass
from ingot.ir.graph import Graph
from ingot.ir.node import Node
from ingot.ir.value import Value
from ingot.source.layout import Expression, call, labelled, lines, listed
from ingot.source.literals import quoted
from ingot.source.program import returned
from ingot.source.repeats import Block, counted_up, is_weight, weight_names
from ingot.source.templates import Templates
from ingot.source.variables import Variables, identifier

Text = Callable[[Sequence[str], str], str]
"""An expression for the texts of the instances of a block; the second argument is what a table of them is called."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a node is written: `scope` has the variables of values, `text` writes names, `variables` gives new ones."""

    scope: dict[Value, str]
    variables: Variables
    text: Text
    indent: int

    def inner(self) -> Place:
        """The place of a function inside of this one, which sees its variables."""
        return Place(dict(self.scope), Variables(self.variables), self.text, self.indent + 4)


@dataclass(frozen=True, slots=True, eq=False)
class BlockFunction:
    """A block as a function: its lines, the table of names that follow no rule, and the numbers of its instances.

    `values` are what its nodes compute, in every instance, each column with the expression of its name.
    """

    name: str
    lines: list[str]
    table: str
    tables: Mapping[str, tuple[str, ...]]
    parameters: list[tuple[str, tuple[int, ...]]]
    values: list[tuple[str, tuple[Value, ...]]]


class Dialect(Protocol):
    """What differs between the styles of a program."""

    def node(self, nodes: Sequence[Node], inputs: Sequence[Expression], targets: str, place: Place) -> list[str]:
        """The lines for one node, or for the same one of each instance of a block.

        `inputs` are the expressions of its inputs, `None` for one that is omitted. `targets` is what the results are
        assigned to, empty where nobody reads any.
        """

    def weight(self, values: Sequence[Value], place: Place) -> Expression:
        """The expression of a constant of a graph, one for each instance."""

    def block(self, block: BlockFunction) -> None:
        """Take in the function of a block."""


def one_text(texts: Sequence[str], table: str) -> str:  # noqa: ARG001
    """The text of the only instance, quoted."""
    return quoted(texts[0])


class Body:
    """One program's bodies of graphs; `functions` gives out names of the module."""

    def __init__(self, dialect: Dialect, module: Variables) -> None:
        self._dialect = dialect
        self._module = module

    def statements(self, graph: Graph, place: Place, blocks: Sequence[Block] = ()) -> list[str]:
        """The lines of a graph, but for what it returns; `place.scope` has its inputs, and gets the rest."""
        first = {}
        inside: set[Node] = set()
        for block in blocks:
            writer = _BlockWriter(self, self._dialect, self._module, block, place.variables)
            inside |= block.nodes
            for start, end in block.runs:
                first[block.instances[start][0]] = writer, start, end
        place.variables.reserve_those_of(self._module)
        rows: list[str] = []
        for node in graph.nodes:
            if node in first:
                writer, start, end = first[node]
                rows += ["", *writer.calls(start, end, place), ""]
            elif node not in inside:
                rows += self.node([node], place)
        return tidy(rows)

    def node(self, nodes: Sequence[Node], place: Place, shared: Mapping[Value, str] | None = None) -> list[str]:
        """The lines of a node, or of the same one of each instance of a block."""
        inputs: list[Expression] = []
        for column in zip(*(node.inputs for node in nodes), strict=True):
            value = column[0]
            if value is None:
                inputs.append("None")
            elif value in place.scope:
                inputs.append(place.scope[value])
            elif shared and value in shared:
                inputs.append(shared[value])
            else:
                inputs.append(self._dialect.weight([item for item in column if item is not None], place))
        return self._dialect.node(nodes, inputs, _targets(nodes, place), place)


class _BlockWriter:
    """A block as a function of the module, and its calls."""

    def __init__(self, body: Body, dialect: Dialect, module: Variables, block: Block, callers: Variables) -> None:
        """Write the function; `callers` are the names of the function that calls it, which it may not share."""
        self._block = block
        first = block.instances[0]
        callers.reserve_those_of(module)
        self.name = callers.free(_block_name(block))
        table = callers.free(f"{self.name.upper()}_NAMES")
        module.reserve(self.name, table)
        self._templates = Templates(len(block.instances), table)
        for position in range(len(first)):
            for texts in _texts(block, position):
                self._templates.note(texts)
        self._templates.choose()
        variables = Variables(module)
        variables.reserve("i", "j", "k", "place")
        scope: dict[Value, str] = {}
        self._arguments = []
        for column in block.arguments:
            value = column[-1]
            op_type = value.producer.op_type if value.producer is not None else "x"
            name = variables.free(re.sub(r"_?\d+$", "", _plain_stem(variables, value, op_type)) or "x")
            scope[column[0]] = name
            self._arguments.append(name)
        place = Place(scope, variables, self._templates.text, 4)
        rows: list[str] = []
        for position in range(len(first)):
            rows += body.node([instance[position] for instance in block.instances], place)
        results = [scope[first[position].outputs[index]] for position, index in block.results]
        if results:
            rows += returned(results, 4)
        columns = [
            tuple(instance[position].outputs[index] for instance in block.instances)
            for position, node in enumerate(first)
            for index in range(len(node.outputs))
        ]
        values = [
            (self._templates.text([value.name for value in column], "result"), column)
            for column in columns
            if column[0].name
        ]
        self._parameters = self._templates.parameters
        header = lines(call(f"def {self.name}", *self._arguments, *(name for name, _ in self._parameters)), 0, ":")
        count = len(block.instances)
        doc = f'    """A block of {len(first)} nodes, of which the model has {count}."""'
        dialect.block(
            BlockFunction(self.name, [*header, doc, *rows], table, self._templates.tables, self._parameters, values)
        )

    def calls(self, start: int, end: int, place: Place) -> list[str]:
        """The calls for a run of instances: one, a loop, or several where a loop could not carry the values."""
        if end - start == 1:
            return self._call(start, place)
        loop = self._loop(start, end, place)
        if loop is not None:
            return loop
        return [row for index in range(start, end) for row in self._call(index, place)]

    def _call(self, index: int, place: Place) -> list[str]:
        instance = self._block.instances[index]
        values = [instance[position].outputs[output] for position, output in self._block.results]
        arguments = [place.scope[column[index]] for column in self._block.arguments]
        numbers = [str(vector[index]) for _, vector in self._parameters]
        own = set(instance)
        targets = []
        for value in values:
            if value.is_output or any(user not in own for user in value.users):
                op_type = value.producer.op_type if value.producer is not None else "x"
                targets.append(place.variables.value(value.name, op_type))
                place.scope[value] = targets[-1]
            else:
                targets.append("_")
        expression = call(self.name, *arguments, *numbers)
        return lines(labelled(f"{', '.join(targets)} = " if values else "", expression), place.indent)

    def _loop(self, start: int, end: int, place: Place) -> list[str] | None:
        block = self._block
        run = range(start, end)
        computed = {value: index for index in run for node in block.instances[index] for value in node.outputs}
        results = {
            block.instances[index][position].outputs[output]: (index, number)
            for index in run
            for number, (position, output) in enumerate(block.results)
        }
        states: dict[int, list[int]] = {}
        varying: list[int] = []
        for slot, column in enumerate(block.arguments):
            values = [column[index] for index in run]
            sources = [results.get(value) for value in values[1:]]
            if len(set(values)) == 1:
                if values[0] in computed:
                    return None
            elif (
                values[0] not in computed
                and all(
                    source is not None and source[0] == start + step and source[1] == sources[0][1]
                    for step, source in enumerate(sources)
                    if sources[0] is not None
                )
                and sources[0] is not None
            ):
                states.setdefault(sources[0][1], []).append(slot)
            elif any(value in computed for value in values):
                return None
            else:
                varying.append(slot)
        return self._looped(start, end, place, states, varying)

    def _looped(
        self, start: int, end: int, place: Place, states: dict[int, list[int]], varying: list[int]
    ) -> list[str]:
        block, margin = self._block, " " * place.indent
        rows: list[str] = []
        arguments = [place.scope[column[start]] for column in block.arguments]
        names: list[str] = []
        iterables: list[Expression] = []
        numbers = []
        for name, vector in self._parameters:
            part = vector[start:end]
            if len(set(part)) == 1:
                numbers.append(str(part[0]))
                continue
            names.append(name)
            iterables.append(progression(part))
            numbers.append(name)
        for slot in varying:
            item = place.variables.free(self._arguments[slot])
            names.append(item)
            iterables.append(listed([place.scope[block.arguments[slot][index]] for index in range(start, end)]))
            arguments[slot] = item
        targets, after, collected = self._loop_targets(start, end, place, states)
        for slots in states.values():
            for slot in slots:
                variable = place.variables.free(self._arguments[slot])
                rows.append(f"{margin}{variable} = {arguments[slot]}")
                arguments[slot] = variable
        for result, slots in states.items():
            targets[result] = arguments[slots[0]]
            after += [f"{arguments[slot]} = {arguments[slots[0]]}" for slot in slots[1:]]
        for result, name in collected.items():
            rows.append(f"{margin}{name} = []")
            if targets[result] == "_":
                targets[result] = place.variables.free(f"{name}_item")
            after.insert(0, f"{name}.append({targets[result]})")
        header = iterables[0] if len(iterables) == 1 else call("zip", *iterables)
        rows += lines(labelled(f"for {', '.join(names)} in ", header), place.indent, ":")
        expression = call(self.name, *arguments, *numbers)
        rows += lines(labelled(f"{', '.join(targets)} = " if targets else "", expression), place.indent + 4)
        rows += [f"{margin}    {row}" for row in after]
        for number, (position, output) in enumerate(block.results):
            for index in range(start, end):
                value = block.instances[index][position].outputs[output]
                if number in collected:
                    place.scope[value] = f"{collected[number]}[{index - start}]"
                elif index == end - 1:
                    place.scope[value] = targets[number]
        return rows

    def _loop_targets(
        self, start: int, end: int, place: Place, states: dict[int, list[int]]
    ) -> tuple[list[str], list[str], dict[int, str]]:
        """Variables for the results, statements behind the call, and lists of results that are read one by one."""
        block = self._block
        inside = {node for index in range(start, end) for node in block.instances[index]}
        targets, collected = [], {}
        for number, (position, output) in enumerate(block.results):
            column = [block.instances[index][position].outputs[output] for index in range(start, end)]
            outside = [value for value in column if value.is_output or any(user not in inside for user in value.users)]
            if any(value is not column[-1] for value in outside):
                collected[number] = place.variables.free(f"{self._result_name(number)}s")
                targets.append("_")
            elif outside and number not in states:
                targets.append(place.variables.free(self._result_name(number)))
            else:
                targets.append("_")
        return targets, [], collected

    def _result_name(self, number: int) -> str:
        position, output = self._block.results[number]
        value = self._block.instances[0][position].outputs[output]
        stem = Variables().value(value.name, self._block.instances[0][position].op_type)
        return re.sub(r"_?\d+$", "", stem) or "result"


def _targets(nodes: Sequence[Node], place: Place) -> str:
    """What the results of a node are assigned to; `_` for one that nobody reads, and nothing where nobody reads any."""
    read = [
        any(node.outputs[index].name and (node.outputs[index].is_output or node.outputs[index].users) for node in nodes)
        for index in range(len(nodes[0].outputs))
    ]
    targets = []
    for value, is_read in zip(nodes[0].outputs, read, strict=True):
        if not is_read:
            targets.append("_")
            continue
        stem = value.name if len(nodes) == 1 else re.sub(r"(_output)?_?\d+$", "", value.name)
        targets.append(place.variables.value(stem, nodes[0].op_type))
        place.scope[value] = targets[-1]
    return ", ".join(targets) if any(read) else ""


def _texts(block: Block, position: int) -> list[list[str]]:
    """The names in a node of a block, for each instance: of the node, its results and its weights."""
    nodes = [instance[position] for instance in block.instances]
    texts = [[node.name for node in nodes]]
    texts += [[node.outputs[index].name for node in nodes] for index in range(len(nodes[0].outputs))]
    for column in zip(*(node.inputs for node in nodes), strict=True):
        if column[0] is not None and is_weight(column[0]):
            texts.append([value.name for value in column if value is not None])
    return texts


def _block_name(block: Block) -> str:
    """A name for a block: the word before the number that counts its instances, or `block`."""
    pairs = list(zip(*block.instances[:2], strict=True))
    weights = [pair for one, other in pairs for pair in zip(weight_names(one), weight_names(other), strict=True)]
    results = [(one.outputs[0].name, other.outputs[0].name) for one, other in pairs if one.outputs]
    for mine, theirs in (*weights, *results):
        for number in counted_up(mine, theirs):
            head = re.match(rf"(.*?)(?<!\d){number}(?!\d)", mine)
            words = re.split(r"[^A-Za-z]+", head[1]) if head else []
            word = next((word for word in reversed(words) if word), "").lower()
            if len(word) > 3 or word in ("net", "row"):
                return identifier(word.removesuffix("s") if len(word) > 4 and not word.endswith("ss") else word)
    return "block"


def _plain_stem(variables: Variables, value: Value, op_type: str) -> str:
    del variables
    return Variables().value(value.name, op_type)


def progression(numbers: Sequence[int]) -> Expression:
    """Numbers as a range, or as a list."""
    step = numbers[1] - numbers[0]
    if step <= 0 or any(b - a != step for a, b in pairwise(numbers)):
        return listed([str(number) for number in numbers])
    end = numbers[-1] + 1
    if step == 1:
        return f"range({end})" if numbers[0] == 0 else f"range({numbers[0]}, {end})"
    return f"range({numbers[0]}, {end}, {step})"


def tidy(rows: list[str]) -> list[str]:
    """Lines without two empty ones in a row, and none at either end."""
    tidied: list[str] = []
    for row in rows:
        if row or (tidied and tidied[-1]):
            tidied.append(row)
    while tidied and not tidied[-1]:
        tidied.pop()
    return tidied
