"""A program as text: its heading, its imports, and sections with the empty lines between them that ruff wants."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir.model import Model
from ingot.ir.value import Value
from ingot.source.layout import WIDTH, Group, lines
from ingot.source.literals import quoted
from ingot.source.weights import Weights


class Program:
    """Sections in order; those that are definitions stand apart by two empty lines."""

    def __init__(self, docstring: list[str]) -> None:
        self._sections: list[tuple[bool, list[str]]] = [(False, docstring)]

    def add_imports(self, rows: list[str]) -> None:
        while rows and not rows[-1]:
            rows.pop()
        self._sections.append((False, rows))

    def add(self, *rows: str, spaced: bool = False) -> None:
        """Put in a section; `spaced` ones are functions."""
        if rows:
            self._sections.append((spaced, list(rows)))

    def text(self) -> str:
        out: list[str] = []
        after_function = False
        for spaced, rows in self._sections:
            if out:
                out += ["", ""] if spaced or after_function else [""]
            out += rows
            after_function = spaced
        return "\n".join(out) + "\n"


def heading(model: Model, how: str, weights: str | None) -> list[str]:
    """The docstring of a program: what the model is called, takes and returns."""
    title = shown(model.graph.name) or "a model"
    rows = [f'"""The model {title}, {how}.', "", "Inputs:"]
    rows += [_declared(value) for value in model.inputs] or ["    none"]
    rows += ["", "Outputs:", *map(_declared, model.outputs)]
    if weights is not None:
        rows += ["", f"Its weights are in {shown(weights)}."]
    return [*rows, '"""']


def _declared(value: Value) -> str:
    return f"    {shown(value.name)}: {shown(str(value.type or '?'))}"[:WIDTH]


def shown(text: str) -> str:
    """Text for a docstring or comment: one line of plain letters, in which no quote ends the docstring."""
    plain = text.encode("unicode_escape").decode("ascii")
    safe = plain.replace("\\", "/").replace('"', "'")
    return safe if len(safe) <= 60 else f"{safe[:57]}..."


def returned(results: Sequence[str], indent: int) -> list[str]:
    """The statement that returns these variables; nothing if there are none."""
    if not results:
        return []
    row = f"{' ' * indent}return {', '.join(results)}"
    if len(row) <= WIDTH or len(results) == 1:
        return [row]
    return lines(Group("return (", tuple(results), ")"), indent)


def load_function(weights: Weights, name: str) -> Sequence[str]:
    """The lines that read the file of weights into a dict `weights`."""
    path = f"Path(__file__).with_name({quoted(name)})"
    if not weights.has_foreign and not weights.has_strings:
        return [f"weights = dict(np.load({path}))"]
    rows = [
        "weights = {}",
        f"for key, array in np.load({path}).items():",
        '    name, _, kind = key.partition("|")',
    ]
    if weights.has_strings:
        rows += ['    if kind == "string":', "        array = np.array(json.loads(array.tobytes()), object)"]
    if weights.has_foreign:
        test = "elif kind:" if weights.has_strings else "if kind:"
        rows += [f"    {test}", "        array = array.view(getattr(ml_dtypes, kind))"]
    return [*rows, "    weights[name] = array"]
