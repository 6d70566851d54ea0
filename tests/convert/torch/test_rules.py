"""Operators of torch in ONNX: recurrence, attention, quantisation, sizes, element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.convert import Request, converted

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn
F = torch.nn.functional


class Call(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *tensors: Any) -> Any:
        return self.fn(*tensors)


def of(fn: Callable[..., Any], *tensors: Any, open_axes: dict[int, str] | None = None) -> list[str]:
    """The operators of a function that converts and verifies; every input with the same open axes."""
    axes = None if open_axes is None else {f"tensors_{at}": open_axes for at in range(len(tensors))}
    model, report = converted(Call(fn), tensors, Request(dynamic_axes=axes, opset_version=23))
    assert report is not None
    return [node.op_type for node in model.nodes()]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("ways", [False, True])
def test_a_recurrent_layer_is_one_operator(kind: Any, ways: bool) -> None:
    layer = kind(4, 5, num_layers=2, bidirectional=ways, batch_first=True)
    model, _ = converted(layer, (torch.randn(2, 6, 4),), Request(dynamic_axes={"input": {0: "n", 1: "t"}}))
    assert [node.op_type for node in model.nodes()].count(kind.__name__) == 2
    assert str(model.outputs[0].type) == f"float32[n, t, {10 if ways else 5}]"


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_one_operator_where_the_opset_has_it(masked: bool) -> None:
    q, k, v = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 6)
    mask = (torch.arange(35).reshape(5, 7) % 3 > 0,) if masked else ()
    assert "Attention" in of(F.scaled_dot_product_attention, q, k, v, *mask)
    model, _ = converted(Call(F.scaled_dot_product_attention), (q, k, v, *mask), Request(opset_version=18))
    assert "Softmax" in {node.op_type for node in model.nodes()}


def test_a_quantised_graph_keeps_its_integers() -> None:
    import torch.ao.quantization.fx._decomposed  # registers the operators

    quantised = torch.ops.quantized_decomposed

    def fn(x: Any) -> Any:
        q = quantised.quantize_per_tensor.default(x, 0.05, 3, -127, 127, torch.int8)
        return quantised.dequantize_per_tensor.default(q, 0.05, 3, -127, 127, torch.int8)

    assert {"QuantizeLinear", "DequantizeLinear"} <= set(of(fn, torch.linspace(-9, 9, 50)))


def test_weights_quantised_by_channel_stay_integers() -> None:
    import torch.ao.quantization.fx._decomposed  # registers the operators

    quantised = torch.ops.quantized_decomposed

    class Layer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("weight", torch.randint(-127, 128, (4, 3), dtype=torch.int8))
            self.register_buffer("scale", torch.rand(4))

        def forward(self, x: Any) -> Any:
            zeros = torch.zeros(4, dtype=torch.int64)
            weight = quantised.dequantize_per_channel(self.weight, self.scale, zeros, 0, -127, 127, torch.int8)
            return F.linear(x, weight)

    model = ingot.convert(Layer(), (torch.randn(2, 3),))
    assert str(model.graph.initializers["weight"].type) == "int8[4, 3]"
    assert "DequantizeLinear" in {node.op_type for node in model.nodes()}


def test_a_program_quantised_by_pt2e_is_quantise_and_dequantise_around_its_layers() -> None:
    pytest.importorskip("torchao")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 5)).eval()
    x = torch.randn(2, 3, 4, 4)
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(torch.export.export(layers, (x,)).module(), quantizer)
    prepared(x)
    model = ingot.convert(torch.export.export(convert_pt2e(prepared), (x,)))
    types = {str(value.type) for value in model.graph.initializers.values()}
    assert {"int8[4, 3, 3, 3]", "int8[5, 16]"} <= types


def test_rows_are_multiplied_by_the_matrix_of_their_expert() -> None:
    library = torch.library.Library("transformers", "FRAGMENT")
    if not hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        library.define("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor")
        library.impl("grouped_mm_fallback", _grouped, "CompositeExplicitAutograd")
        shape = lambda x, w, _: x.new_empty(x.shape[0], w.shape[2])  # noqa: E731
        torch.library.register_fake("transformers::grouped_mm_fallback", shape, lib=library)

    def fn(x: Any, weights: Any, experts: Any) -> Any:
        order = torch.argsort(experts)
        counts = torch.histc(experts.float(), bins=4, min=0, max=3)
        ends = torch.cumsum(counts, 0, dtype=torch.int32)
        return torch.ops.transformers.grouped_mm_fallback(x[order], weights, ends)

    of(fn, torch.randn(6, 3), torch.randn(4, 3, 5), torch.tensor([3, 1, 1, 0, 3, 1]))


def _grouped(x: Any, weights: Any, ends: Any) -> Any:
    made, first = x.new_zeros(x.shape[0], weights.shape[2]), 0
    for at, last in enumerate(ends.tolist()):
        made[first:last] = x[first:last] @ weights[at]
        first = last
    return made


def test_sizes_that_stay_open_are_computed_in_the_model() -> None:
    def fn(x: Any) -> Any:
        n, m = x.shape
        return x.reshape(n * m, 1), x[: n // 2], torch.arange(n) * m, x.new_zeros(n + m)

    of(fn, torch.randn(4, 6), open_axes={0: "n", 1: "m"})


def test_axes_of_one_symbol_stay_symbolic_in_the_outputs() -> None:
    model = ingot.convert(Call(lambda x: x.flatten()), (torch.randn(4, 6),), dynamic_axes=[{0: "n"}])
    assert str(model.outputs[0].type) == "float32[6*n]"


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32", "int64", "uint8"])
def test_element_types_are_kept_and_promoted_as_torch_does(dtype: str) -> None:
    x = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    of(lambda x: (x + 1, x * 2.5, x / 2, x > 1.5, x.sum(), x.to(torch.float32).mean()), x)


@pytest.mark.parametrize(
    ("fn", "tensors"),
    [
        (lambda x, i: x[i, :, i], (torch.randn(3, 4, 3), torch.tensor([0, 2]))),
        (lambda x, i: x[:, i, i], (torch.randn(3, 4, 4), torch.tensor([[0, 2]]))),
        (lambda x: x[x > 0], (torch.randn(3, 4),)),
        (lambda x: x.masked_fill(x > 0, -1), (torch.randn(3, 4),)),
        (lambda x: torch.fft.irfft(torch.fft.rfft(x)), (torch.randn(3, 8),)),
        (lambda x: F.interpolate(x, size=(5, 7), mode="bilinear"), (torch.randn(1, 2, 4, 4),)),
        (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), (torch.randn(1, 2, 4, 4),)),
        (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), (torch.randn(1, 2, 8, 8),)),
        (lambda x: F.avg_pool2d(x, 20, ceil_mode=True), (torch.randn(1, 2, 8, 8),)),
        (lambda x: F.adaptive_avg_pool2d(x, (3, 5)), (torch.randn(1, 2, 8, 7),)),
        (lambda x: x.unfold(1, 3, 2), (torch.randn(2, 9),)),
        (lambda x: torch.atan2(x, x.flip(0)), (torch.tensor([0.0, -0.0, 1, -2, float("inf")]),)),
        (lambda x: (torch.expm1(x), torch.log1p(x)), (torch.tensor([1e-7, -1e-6, 0.5, 30.0, -0.99]),)),
        (lambda x: (x // 3, x % 3, torch.fmod(x, 3)), (torch.arange(-7, 8),)),
        (lambda x: torch.topk(x, 2), (torch.randn(3, 5),)),
        (lambda x: (x.median(1), x.median(), x.kthvalue(2, 0)), (torch.randn(3, 6),)),
        (lambda x, y: torch.diagonal_scatter(x, y, 1), (torch.randn(3, 4), torch.randn(3))),
        (lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)), (torch.tensor([1, float("nan"), 3]), torch.ones(3))),
        (lambda x: x + torch.linspace(-3, 8, 5, dtype=torch.int64), (torch.ones(5),)),
        (lambda x: torch.bincount(x, minlength=6), (torch.tensor([1, 3, 0, 1, 1, 8]),)),
        (
            lambda x, g: F.grid_sample(x, g, mode="bicubic", padding_mode="border"),
            (torch.randn(1, 2, 5, 4), torch.rand(1, 3, 3, 2) * 3 - 1.5),
        ),
        (lambda x: x.roll((1, -2), (0, 1)), (torch.randn(3, 5),)),
    ],
)
def test_an_operator_is_equal(fn: Callable[..., Any], tensors: tuple[Any, ...]) -> None:
    of(fn, *tensors)


def test_an_input_given_back_is_an_output_of_its_own() -> None:
    model = ingot.convert(Call(lambda x: (x, x, x + 1)), (torch.ones(2),))
    assert len({value.name for value in [*model.inputs, *model.outputs]}) == 4
    np.testing.assert_array_equal(ingot.Session(model).run(None, {"tensors_0": np.ones(2, np.float32)})[2], [2, 2])


@pytest.mark.parametrize("factor", [0.6, 1.7])
def test_corners_are_aligned_in_whole_sizes(factor: float) -> None:
    class Scaled(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return F.interpolate(x, scale_factor=factor, mode="bilinear", align_corners=True)

    ingot.convert(Scaled(), torch.randn(2, 3, 4, 4), dynamic_axes={"x": {0: "batch", 2: "height"}})


def test_all_may_be_dropped() -> None:
    class Dropped(nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return torch.ops.aten.native_dropout(x, 1.0, True)

    model = ingot.convert(Dropped(), torch.ones(2, 3))
    kept, mask = ingot.Session(model)(np.ones((2, 3), np.float32))
    assert not kept.any()
    assert not mask.any()
