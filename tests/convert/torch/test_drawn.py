from __future__ import annotations

import pytest

from ingot.convert.torch.drawn import drawn_outputs
from ingot.ir import Graph, Model, Node, Value


@pytest.mark.parametrize(("domain", "drawn"), [("", ["y"]), ("my", [])])
@pytest.mark.parametrize("op_type", ["RandomNormalLike", "Bernoulli", "Dropout"])
def test_random_operators_of_the_standard_are_drawn_and_their_namesakes_are_not(
    op_type: str, domain: str, drawn: list[str]
) -> None:
    x, ratio, training = Value("x"), Value("ratio"), Value("training")
    node = Node(op_type, [x, ratio, training], ["y"], domain=domain)
    model = Model(Graph([x, ratio, training], [node.output], [node]), {"": 21, "my": 1})
    assert drawn_outputs(model) == drawn
