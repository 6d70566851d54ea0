"""The constants of a model in a program of style build: small ones as literals, others in the file of weights."""

from __future__ import annotations

from collections.abc import Sequence

from ingot.ir.equality import same_tensor
from ingot.ir.model import Model
from ingot.ir.tensor import SparseTensor, Tensor
from ingot.ir.value import Value
from ingot.source.body import Place
from ingot.source.build_values import BuildValues
from ingot.source.layout import Expression, Group, labelled, lines, mapping
from ingot.source.literals import elements, quoted
from ingot.source.repeats import Block, is_weight
from ingot.source.variables import Variables, identifier
from ingot.source.weights import Weights


class BuildConstants:
    """The initialisers of a model's graph; `rows` define those that are read in several places."""

    def __init__(
        self, model: Model, weights: Weights, values: BuildValues, module: Variables, blocks: Sequence[Block]
    ) -> None:
        self._model = model
        self._weights = weights
        self._values = values
        self._module = module
        self._blocks = blocks
        self._variables: dict[Value, str] = {}
        self.rows: list[str] = []
        self._name_all()

    def weight(self, values: Sequence[Value], place: Place) -> Expression:
        if len(set(values)) == 1:
            return self.reference(values[0])
        if self._is_one_literal(values):
            tensor = values[0].constant
            assert isinstance(tensor, Tensor)
            return self._values.tensor(tensor, place.text([value.name for value in values], "constant"))
        keys = [self.key(value) for value in values]
        return f"weights[{place.text(keys, 'weight')}]"

    def _is_one_literal(self, values: Sequence[Value]) -> bool:
        """Whether constants of the instances of a block are the same small one, each read in one place."""
        first = values[0].constant
        if not isinstance(first, Tensor) or elements(first) is None:
            return False
        return all(
            isinstance(value.constant, Tensor)
            and same_tensor(first, value.constant)
            and (first.doc_string, first.metadata) == (value.constant.doc_string, value.constant.metadata)
            and _uses(value) == 1
            and not self._is_declared(value)
            for value in values
        )

    def _stored_for_blocks(self) -> set[Value]:
        """Constants that the instances of a block find in the file of weights, since they differ."""
        stored: set[Value] = set()
        for block in self._blocks:
            for nodes in zip(*block.instances, strict=True):
                for column in zip(*(node.inputs for node in nodes), strict=True):
                    values = [value for value in column if value is not None and is_weight(value)]
                    if len(set(values)) > 1 and not self._is_one_literal(values):
                        stored.update(values)
        return stored

    def _name_all(self) -> None:
        """Put weights into their file, in order, and give variables to constants that are read in several places."""
        stored = self._stored_for_blocks()
        for value in self._model.graph.initializers.values():
            if isinstance(value.constant, Tensor):
                if elements(value.constant) is None or self._is_declared(value) or value in stored:
                    self.key(value)
                elif _uses(value) > 1:
                    self.reference(value)
            else:
                self.reference(value)

    def reference(self, value: Value) -> Expression:
        known = self._variables.get(value)
        if known is not None:
            return known
        tensor = value.constant
        if isinstance(tensor, Tensor) and value.graph is self._model.graph and not self._weights.has(tensor):
            literal = elements(tensor)
            if literal is not None:
                expression = self._values.tensor(tensor, quoted(value.name))
                if _uses(value) == 1:
                    return expression
                name = self._module.free(identifier(value.name))
                self._variables[value] = name
                self.rows += lines(labelled(f"{name} = ", expression))
                return name
            return f"weights[{quoted(self.key(value))}]"
        if isinstance(tensor, SparseTensor):
            name = self._module.free(identifier(value.name))
            self._variables[value] = name
            self.rows += lines(labelled(f"{name} = ", self._values.sparse(tensor)))
            return name
        return f"weights[{quoted(self.key(value))}]"

    def _is_declared(self, value: Value) -> bool:
        """Whether a constant has to be made before the graph is written: nobody reads it, or it is an input too."""
        return value.is_input or value.is_output or not value.users

    def key(self, value: Value) -> str:
        tensor = value.constant
        assert isinstance(tensor, Tensor)
        return self._weights.key(tensor, value.name if value.graph is self._model.graph else None)

    def initializers(self) -> Expression | None:
        names = [name for name in self._weights.names if not name.startswith("@")]
        renamed = [
            (quoted(value.name), f"weights[{quoted(key)}]")
            for value in self._model.graph.initializers.values()
            if isinstance(value.constant, Tensor)
            and self._weights.has(value.constant)
            and (key := self.key(value)) != value.name
        ]
        sparse = [
            (quoted(value.name), self.reference(value))
            for value in self._model.graph.initializers.values()
            if isinstance(value.constant, SparseTensor)
        ]
        others: list[tuple[str, Expression]] = [*renamed, *sparse]
        if len(names) == len(self._weights.names) and not others:
            return "weights" if names else None
        if not names:
            return mapping(others) if others else None
        own = '{name: array for name, array in weights.items() if name[0] != "@"}'
        if not others:
            return own
        return Group("{", (f"**{own}", *(labelled(f"{key}: ", shown) for key, shown in others)), "}")


def _uses(value: Value) -> int:
    return len(value.uses) + value.is_output
