"""The end of a program in style build: the call of `build`, and what is set on the model after it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingot.ir.model import Model
from ingot.ir.tensor import Tensor
from ingot.ir.value import Value
from ingot.source.body import Place, one_text, tidy
from ingot.source.build_constants import BuildConstants
from ingot.source.build_sharding import annotated
from ingot.source.build_values import BuildValues
from ingot.source.layout import Expression, call, labelled, lines, listed, mapping
from ingot.source.literals import quoted
from ingot.source.notes import Notes, notes_of, written_notes
from ingot.source.variables import Variables
from ingot.source.weights import Weights

if TYPE_CHECKING:
    from ingot.source.build_style import BuildStyle

_FEW_NOTES = 4
"""At most so many doc strings and sets of metadata are written into the program."""

_NEWEST_OPSET = 28


class ModelSections:
    """The sections behind the function of the graph: declared types, `make_model`, and the main program."""

    def __init__(
        self,
        model: Model,
        style: BuildStyle,
        values: BuildValues,
        constants: BuildConstants,
        weights: Weights,
        weights_name: str,
    ) -> None:
        self._model = model
        self._style = style
        self._values = values
        self._constants = constants
        self._weights = weights
        self._weights_name = weights_name

    def sections(self, graph_name: str, functions: list[str]) -> list[list[str]]:
        model, graph = self._model, self._model.graph
        rows: list[list[str]] = []
        types = self._style.value_types(graph)
        noted = self._noted(notes_of(model))
        keywords: list[Expression] = [graph_name]
        inputs: list[tuple[str, Expression]] = [
            (quoted(value.name), self._values.type(value.type)) for value in graph.inputs if value.constant is None
        ]
        keywords.append(labelled("inputs=", mapping(inputs)))
        keywords.append(labelled("outputs=", self._style.declared_outputs(graph)))
        initializers = self._constants.initializers()
        if initializers is not None:
            keywords.append(labelled("initializers=", initializers))
        if functions:
            keywords.append(labelled("functions=", listed(list(functions))))
        if types:
            keywords.append("value_types=VALUE_TYPES")
            rows += self._style.type_functions
            table = [
                pair
                for pair, value in zip(types, self._style.typed_values(graph), strict=True)
                if value not in self._style.typed
            ]
            rows.append([*lines(labelled("VALUE_TYPES = ", mapping(table))), *self._style.type_loops])
        if self._style.result_names:
            keywords.append(f"result_names={quoted(self._style.result_names)}")
        imports = dict(model.opset_imports)
        standard = imports.get("")
        ordered = standard is not None and 1 <= standard <= _NEWEST_OPSET and next(iter(imports)) == ""
        if ordered:
            keywords.append(f"opset={standard}")
            others: list[tuple[str, Expression]] = [(quoted(d), str(v)) for d, v in imports.items() if d]
            if others:
                keywords.append(labelled("opsets=", mapping(others)))
        keywords.append(f"ir_version={model.ir_version}")
        keywords.append(f"name={quoted(graph.name)}")
        keywords.append(f"doc_string={quoted(model.doc_string)}")
        keywords.append("exact=True")
        making = ["def make_model() -> Model:", '    """The model, built anew."""']
        making += lines(labelled("model = ", call("build", *keywords)), 4)
        if not ordered:
            pairs: list[tuple[str, Expression]] = [(quoted(d), str(v)) for d, v in imports.items()]
            making += lines(labelled("model.opset_imports = ", mapping(pairs)), 4)
        making += self._fields()
        making += noted
        making.append("    return model")
        rows.append(making)
        self._values.used |= {"build", "op", "ingot.Model", "ingot.save"}
        output = quoted(self._weights_name.removesuffix(".npz") + ".onnx")
        rows.append(
            [
                'if __name__ == "__main__":',
                f"    save(make_model(), sys.argv[1] if len(sys.argv) > 1 else {output})",
            ]
        )
        return rows

    def _noted(self, notes: Notes) -> list[str]:
        """The statement that puts doc strings and metadata onto the model: from the file of weights, unless few."""
        if not notes:
            return []
        self._values.used.add("annotate")
        if sum(map(len, notes.values())) <= _FEW_NOTES:
            return lines(call("annotate", "model", written_notes(notes)), 4)
        self._values.used.add("json")
        key = self._weights.key(Tensor(json.dumps(notes), "string"))
        return [f"    annotate(model, json.loads(weights[{quoted(key)}].item()))"]

    def _fields(self) -> list[str]:
        """Statements for what `build` does not take."""
        model, graph = self._model, self._model.graph
        rows = [
            f"    model.producer_name = {quoted(model.producer_name)}",
            f"    model.producer_version = {quoted(model.producer_version)}",
        ]
        if model.domain:
            rows.append(f"    model.domain = {quoted(model.domain)}")
        if model.model_version:
            rows.append(f"    model.model_version = {model.model_version}")
        if model.metadata:
            pairs: list[tuple[str, Expression]] = [(quoted(k), quoted(v)) for k, v in model.metadata.items()]
            rows += lines(labelled("model.metadata = ", mapping(pairs)), 4)
        if model.configurations:
            self._values.used.add("sharding.DeviceConfiguration")
            shown: list[Expression] = [
                call("DeviceConfiguration", quoted(c.name), str(c.num_devices), _tuple(c.devices))
                for c in model.configurations
            ]
            rows += lines(labelled("model.configurations = ", listed(shown)), 4)
        defaults = [value for value in graph.inputs if value.constant is not None]
        if defaults:
            order = [value for value in graph.inputs if value.constant is None] + defaults
            rows += self._default_inputs(defaults, moved=order != list(graph.inputs))
        rows += annotated(graph, "model.graph", 4, _in_graph, self._values.used)
        rows += self._training()
        return rows

    def _default_inputs(self, defaults: list[Value], *, moved: bool) -> list[str]:
        graph = self._model.graph
        rows = []
        for value in defaults:
            if value.constant is not None and value.type != value.constant.type:
                shown = self._values.type(value.type)
                rows += lines(labelled(f"model.graph.value({quoted(value.name)}).type = ", shown), 4)
        names = [quoted(value.name) for value in (graph.inputs if moved else defaults)]
        if moved:
            rows += lines(labelled("names = ", listed(list(names))), 4)
            rows.append("    model.graph.inputs[:] = [model.graph.value(name) for name in names]")
        elif [value for value in graph.initializers.values() if value.constant is not None] == defaults and all(
            isinstance(value.constant, Tensor) and self._constants.key(value) == value.name for value in defaults
        ):
            rows.append("    model.graph.inputs.extend(model.graph.initializers.values())")
        else:
            rows += lines(labelled("names = ", listed(list(names))), 4)
            rows.append("    model.graph.inputs.extend(model.graph.value(name) for name in names)")
        return rows

    def _training(self) -> list[str]:
        rows: list[str] = []
        for training in self._model.training:
            self._values.used |= {"model.TrainingInfo"}
            rows.append("    training = TrainingInfo()")
            for field in ("initialization", "algorithm"):
                graph = getattr(training, field)
                if graph is None:
                    continue
                self._values.used.add("inserting")
                rows.append("    with inserting(at_end_of=model.graph, exact=True):")
                scope = {value: _in_graph(value) for value in self._model.graph.values()}
                place = Place(scope, Variables(self._style.module), one_text, 8)
                place.variables.reserve("training", "model")
                rows += ["", *tidy(self._style.subgraph(graph, field, place)), ""]
                rows += [f"    {field}.adopt(model)", f"    training.{field} = {field}"]
            for field in ("initialization_binding", "update_binding"):
                binding = getattr(training, field)
                if binding:
                    pairs: list[tuple[str, Expression]] = [(quoted(k), quoted(v)) for k, v in binding.items()]
                    rows += lines(labelled(f"training.{field} = ", mapping(pairs)), 4)
            rows.append("    model.training.append(training)")
        return rows


def _in_graph(value: Value) -> str:
    """The expression of a value of the main graph."""
    return f"model.graph.value({quoted(value.name)})"


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(map(quoted, texts))}{',' if len(texts) == 1 else ''})"
