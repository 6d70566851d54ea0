"""ingot.export: torch.onnx.export's parameters, names, sharing, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn


class Small(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.norm(self.conv(x)).relu().mean((2, 3)))


def run(model: ingot.Model, *arrays: Any) -> list[Any]:
    names = [value.name for value in model.inputs]
    return ingot.Session(model).run(None, dict(zip(names, arrays, strict=True)))


def test_the_tutorials_call_writes_a_model_with_an_open_batch(tmp_path: Path) -> None:
    model = Small().eval()
    example = torch.randn(1, 3, 8, 8)
    ingot.export(
        model,
        example,
        tmp_path / "small.onnx",
        export_params=True,
        opset_version=18,
        do_constant_folding=True,
        input_names=["input"],
        output_names=["output"],
        dynamic_axes={"input": {0: "batch_size"}, "output": {0: "batch_size"}},
    )
    made = ingot.load(tmp_path / "small.onnx")
    assert made.opset == 18
    assert [str(value.type) for value in made.inputs] == ["float32[batch_size, 3, 8, 8]"]
    assert [(value.name, str(value.type)) for value in made.outputs] == [("output", "float32[batch_size, 5]")]
    x = torch.randn(5, 3, 8, 8)
    np.testing.assert_allclose(run(made, x.numpy())[0], model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_parameters_and_buffers_keep_their_names() -> None:
    made = ingot.export(Small(), torch.randn(2, 3, 8, 8))
    names = set(made.graph.initializers)
    assert {"conv.weight", "conv.bias", "norm.running_mean", "norm.running_var", "head.weight"} <= names


def test_a_module_in_training_is_converted_in_evaluation_mode_and_left_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).train()
    made = ingot.export(model, torch.randn(2, 3))
    assert "Dropout" not in {node.op_type for node in made.nodes()}
    assert model.training
    assert model[1].training


def test_a_shared_weight_is_stored_once() -> None:
    class Tied(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids: Any) -> Any:
            return self.head(self.embed(ids)[:, 0])

    made = ingot.export(Tied(), torch.tensor([[1, 2], [3, 4]]))
    weights = [value for value in made.graph.initializers.values() if str(value.type) == "float32[7, 4]"]
    assert len(weights) == 1


def test_keywords_dicts_and_nested_results_are_named_after_their_keys() -> None:
    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, *, scale: Any) -> Any:
            return {"scaled": x * scale, "parts": [x + 1, x - 1]}

    made = ingot.export(Model(), (torch.ones(2),), kwargs={"scale": torch.tensor(3.0)})
    assert [value.name for value in made.inputs] == ["x", "scale"]
    assert [value.name for value in made.outputs] == ["scaled", "parts_0", "parts_1"]


def test_dynamic_shapes_are_those_of_torch_export() -> None:
    rows = torch.export.Dim("rows", min=2)
    made = ingot.export(Small(), (torch.randn(2, 3, 8, 8),), dynamic_shapes={"x": {0: rows}})
    assert str(made.inputs[0].type) == "float32[rows, 3, 8, 8]"
    assert run(made, np.zeros((7, 3, 8, 8), np.float32))[0].shape == (7, 5)


def test_parameters_left_out_are_inputs() -> None:
    made = ingot.export(nn.Linear(3, 2), torch.randn(4, 3), export_params=False)
    assert [value.name for value in made.inputs] == ["input", "weight", "bias"]


def test_an_exported_program_and_its_file_convert(tmp_path: Path) -> None:
    model = Small().eval()
    x = torch.randn(2, 3, 8, 8)
    program = torch.export.export(model, (x,))
    torch.export.save(program, tmp_path / "small.pt2")
    with pytest.raises(ingot.ConvertError, match="runs whatever code"):
        ingot.convert(tmp_path / "small.pt2")
    for source in (program, tmp_path / "small.pt2"):
        made = ingot.convert(source, trust_pickle=True)
        np.testing.assert_allclose(run(made, x.numpy())[0], model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_every_unsupported_call_is_listed_with_its_line() -> None:
    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            eigen = torch.linalg.eigvalsh(x)
            return eigen + torch.special.bessel_j0(x)

    with pytest.raises(ingot.ConvertError) as caught:
        ingot.export(Model(), torch.eye(3))
    lines = "\n".join(caught.value.where)
    assert "2 pieces" in caught.value.message
    assert "aten._linalg_eigh.default" in lines
    assert "aten.special_bessel_j0.default" in lines
    assert "eigen = torch.linalg.eigvalsh(x)" in lines
    assert f"{Path(__file__).name}:" in lines


def test_nothing_is_written_for_a_model_that_cannot_be_converted(tmp_path: Path) -> None:
    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return torch.special.bessel_j0(x)

    with pytest.raises(ingot.ConvertError):
        ingot.export(Model(), torch.ones(3), tmp_path / "no.onnx")
    assert not list(tmp_path.iterdir())


def test_a_custom_operator_is_written_by_the_rule_of_the_users_table() -> None:
    from ingot.builder import op

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return torch.special.bessel_j0(x) + 1

    table = {torch.ops.aten.special_bessel_j0.default: lambda site, x: op.domain("my.domain").BesselJ0(x)}  # noqa: ARG005
    made = ingot.export(Model(), torch.ones(3), custom_translation_table=table, verify=False)
    assert [node.op_type for node in made.graph] == ["BesselJ0", "Add"]
    assert made.opset_imports["my.domain"] == 1


def test_a_function_in_the_users_table_is_given_complex_tensors_and_a_rule_is_not() -> None:
    from ingot.builder import op
    from ingot.convert.torch import rule
    from ingot.convert.torch.pair import Pair

    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(x))

    kinds: list[type] = []

    def noted(_: Any, x: Any, y: Any) -> Any:
        kinds.append(type(x))
        return Pair(op.Mul(x.real, y.real), op.Mul(x.imaginary, y.imaginary))

    for write in (noted, rule("another")(noted)):
        ingot.export(Model(), torch.ones(3, 2), custom_translation_table={"aten.mul.Tensor": write}, verify=False)
    assert kinds == [Pair]


def test_a_model_that_branches_on_values_is_refused_with_torchs_words() -> None:
    class Model(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(ingot.ConvertError, match=r"torch\.export cannot trace"):
        ingot.export(Model(), torch.ones(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dynamic_axes": {"nope": {0: "n"}}}, "no input"),
        ({"dynamic_axes": {"x": {9: "n"}}}, "axis 9"),
        ({"input_names": ["a", "b"]}, "2 input names"),
        ({"nonsense": 1}, "takes no 'nonsense'"),
        ({"dynamic_axes": {"x": {0: "n"}}, "dynamic_shapes": {"x": None}}, "say the same"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ingot.InputError, match=message):
        ingot.export(Small(), torch.randn(2, 3, 8, 8), **arguments)


def test_a_model_without_an_example_is_refused() -> None:
    with pytest.raises(ingot.InputError, match="example"):
        ingot.export(Small())


def test_a_wrong_rule_is_found_by_the_first_value_that_differs() -> None:
    from ingot.builder import op

    table = {"aten.relu.default": lambda site, x: op.Neg(x)}  # noqa: ARG005
    with pytest.raises(ingot.VerifyError) as caught:
        ingot.export(Small(), torch.randn(2, 3, 8, 8), custom_translation_table=table)
    assert "'relu'" in str(caught.value)


class _Parts(nn.Module):  # type: ignore[misc,name-defined]
    def forward(self, x: Any, y: Any) -> Any:
        return x + y, x - y, x * y


def test_the_first_inputs_and_outputs_may_be_named_alone() -> None:
    x = torch.ones(2, 3)
    model = ingot.export(_Parts(), (x, x), input_names=["first"], output_names=["total", "output_2"])
    assert model.graph.inputs.names == ["first", "y"]
    assert model.graph.outputs.names == ["total", "output_2", "output_2_1"]
    with pytest.raises(ingot.InputError, match="4 output names are given, the model has 3 outputs"):
        ingot.export(_Parts(), (x, x), output_names=["a", "b", "c", "d"])
