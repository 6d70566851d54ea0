"""The page that `ingot info` prints: facts, signature, operators, weights, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.text import Text

from ingot.cli.printable import one_line
from ingot.cli.show import flow, heading, rows
from ingot.cli.summary import ExternalFile, FunctionSummary, OperatorCount, Port, Summary, TensorSummary
from ingot.cli.units import counted, size_text
from ingot.ir.domains import STANDARD, canonical

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_DEFAULTS = 8  # models of IR version 3 and older list every weight as an input
_MOST_FUNCTIONS = 12
_MOST_FILES = 8
_MOST_PROBLEMS = 10


def page(summary: Summary, *, looked_for: bool = True) -> Iterator[RenderableType]:
    """The parts of the page, top to bottom; what a model does not have is left out.

    `looked_for`: whether there was a folder to look for external weights in.
    """
    yield rows(_facts(summary), indent=0)
    yield heading("inputs")
    yield from _ports(summary.inputs)
    yield heading("outputs")
    yield from _ports(summary.outputs)
    if summary.operators:
        yield heading("operators", _operators_note(summary))
        yield flow(_operators(summary.operators))
    if summary.functions:
        yield heading("functions")
        yield from _functions(summary.functions)
    if summary.largest:
        yield heading("largest tensors")
        yield rows((_tensor(tensor) for tensor in summary.largest), right=(0,))
    if summary.external:
        yield heading("external weights")
        yield from _files(summary.external, "missing" if looked_for else "not looked for: give --folder")
    if summary.metadata:
        yield heading("metadata")
        yield rows((key, one_line(value)) for key, value in summary.metadata.items())
    if summary.problems:
        yield heading("problems")
        yield from _problems(summary.problems)


def _facts(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "model", summary.path if summary.path != "-" else "from stdin"
    if summary.producer_name or summary.producer_version:
        yield "producer", f"{summary.producer_name} {summary.producer_version}".strip()
    if summary.domain:
        yield "domain", summary.domain
    if summary.model_version:
        yield "version", str(summary.model_version)
    imports = ", ".join(f"{opset.domain} {opset.version}" for opset in summary.opset_imports)
    yield "format", f"IR version {summary.ir_version}, opset {imports or 'missing'}"
    yield "graph", _graph(summary)
    yield "parameters", _parameters(summary)
    yield "size", _size(summary)
    if summary.doc_string:
        yield "doc", one_line(summary.doc_string)
    if summary.graph_doc_string:
        yield "graph doc", one_line(summary.graph_doc_string)


def _graph(summary: Summary) -> str:
    text = counted(summary.nodes, "node")
    if summary.graph_name:
        text = f"'{one_line(summary.graph_name, 60)}', {text}"
    if summary.all_nodes > summary.nodes:
        inner = [counted(summary.subgraphs, "subgraph")] if summary.subgraphs else []
        inner += [counted(len(summary.functions), "function")] if summary.functions else []
        text += f", {summary.all_nodes:,} with {' and '.join(inner) or 'training'}"
    return text


def _parameters(summary: Summary) -> str:
    if not summary.tensors:
        return "none"
    kinds = list(summary.parameters_by_dtype.items())
    if len(kinds) == 1:
        return f"{summary.parameters:,} {kinds[0][0]} in {counted(summary.tensors, 'tensor')}"
    split = ", ".join(f"{count:,} {dtype}" for dtype, count in kinds)
    return f"{summary.parameters:,} in {counted(summary.tensors, 'tensor')}: {split}"


def _size(summary: Summary) -> str:
    file = "" if summary.file_bytes is None else f"{size_text(summary.file_bytes)} file, "
    text = f"{file}{size_text(summary.weight_bytes_inside)} weights inside"
    if summary.weight_bytes_external:
        text += f", {size_text(summary.weight_bytes_external)} external"
    return text


def _ports(ports: list[Port]) -> Iterator[RenderableType]:
    """Every input or output, but for defaults where they are many."""
    if not ports:
        yield rows([("none",)])
    hidden = sum(port.default for port in ports)
    if hidden <= _MOST_DEFAULTS:
        hidden = 0
    shown = [port for port in ports if not (hidden and port.default)]
    if shown:
        yield rows(_port(port) for port in shown)
    if hidden:
        yield rows([(f"and {hidden:,} with a default; --json lists them",)])


def _port(port: Port) -> tuple[str, str]:
    notes = ["has a default"] if port.default else []
    notes += [one_line(port.doc_string, 60)] if port.doc_string else []
    return port.name, (port.type or "type not given") + (f" ({'; '.join(notes)})" if notes else "")


def _operators_note(summary: Summary) -> str:
    return f"{counted(len(summary.operators), 'kind')}, {counted(summary.all_nodes, 'node')}"


def _operators(counts: list[OperatorCount]) -> list[str]:
    width = max(len(f"{count.count:,}") for count in counts)
    return [f"{count.count:>{width},} {_operator(count)}" for count in counts]


def _operator(count: OperatorCount) -> str:
    return count.operator if canonical(count.domain) == STANDARD else f"{count.domain}.{count.operator}"


def _functions(functions: list[FunctionSummary]) -> Iterator[RenderableType]:
    yield rows(((counted(f.nodes, "node"), _signature(f)) for f in functions[:_MOST_FUNCTIONS]), right=(0,))
    if len(functions) > _MOST_FUNCTIONS:
        yield rows([(f"and {len(functions) - _MOST_FUNCTIONS:,} more; --json lists them",)])


def _signature(function: FunctionSummary) -> str:
    name = f"{function.domain}.{function.name}" if function.domain else function.name
    name += f":{function.overload}" if function.overload else ""
    parameters = [*function.inputs, *(f"{attribute}=" for attribute in function.attributes)]
    return f"{name}({', '.join(parameters)}) -> ({', '.join(function.outputs)})"


def _tensor(tensor: TensorSummary) -> tuple[str, str, str]:
    where = "" if tensor.location is None else f" in {tensor.location}"
    return size_text(tensor.bytes), f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]", tensor.name + where


def _files(files: list[ExternalFile], absent: str) -> Iterator[RenderableType]:
    """The files, what is missing first."""
    shown = sorted(files, key=lambda file: file.found)[:_MOST_FILES]
    yield rows((_file(file, absent) for file in shown), right=(0,))
    if len(files) > _MOST_FILES:
        yield rows([(f"and {len(files) - _MOST_FILES:,} more; 'ingot external' lists them",)])


def _file(file: ExternalFile, absent: str) -> tuple[str | Text, ...]:
    state = Text("" if file.found else absent, style="red")
    return size_text(file.bytes), counted(file.tensors, "tensor"), file.location, state


def _problems(problems: list[str]) -> Iterator[RenderableType]:
    yield rows((Text(one_line(problem, 400), style="yellow"),) for problem in problems[:_MOST_PROBLEMS])
    if len(problems) > _MOST_PROBLEMS:
        yield rows([(f"and {len(problems) - _MOST_PROBLEMS:,} more; --json lists them",)])
