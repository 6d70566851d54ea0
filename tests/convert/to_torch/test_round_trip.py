"""From PyTorch to ONNX and back: the same weights under the same names, the same loss, the same step of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

import ingot

pytestmark = pytest.mark.filterwarnings("ignore")


class Perceptron(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(8, 16)
        self.out = nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return self.out(self.hidden(x).relu())


class Convolutions(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        first = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*first, nn.Conv2d(8, 8, 3, stride=2, bias=False), nn.ReLU())
        self.head = nn.Linear(8, 4)
        self.features[1].running_mean.uniform_()
        self.features[1].running_var.uniform_(1, 2)

    def forward(self, x: Any) -> Any:
        return self.head(self.features(x).mean((2, 3)))


class Block(nn.Module):  # type: ignore[misc]
    """A block of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.randn(1, 5, 16))
        self.scale = nn.Parameter(torch.tensor(1.5))
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.before, self.between = nn.LayerNorm(16), nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Any) -> Any:
        batch, length, size = x.shape
        x = x + self.places
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        read = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, size)
        x = x + self.out(read) * self.scale
        return x + self.down(F.gelu(self.up(self.between(x))))


MODULES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "a perceptron": (Perceptron, (4, 8)),
    "convolutions": (Convolutions, (4, 3, 16, 16)),
    "a block of a transformer": (Block, (4, 5, 16)),
}


@pytest.fixture(params=MODULES)
def original(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    torch.manual_seed(0)
    make, shape = MODULES[request.param]
    return make().eval(), torch.randn(shape)


@pytest.mark.parametrize("opset", [18, 23])
def test_one_step_of_training_gives_the_same_loss_and_weights(original: tuple[Any, Any], opset: int) -> None:
    module, x = original
    model = ingot.convert(module, x, dynamic_axes={"x": {0: "batch"}}, opset_version=opset)
    back = ingot.to_torch(model)
    wanted = torch.randn_like(module(x))
    losses = []
    for each in (module, back):
        optimiser = torch.optim.SGD(each.parameters(), lr=0.1)
        loss = F.mse_loss(each(x), wanted)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    found = dict(back.named_parameters())
    assert set(found) == {name for name, _ in module.named_parameters()}
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(found[name], parameter, rtol=1e-5, atol=1e-6)


def test_the_state_dict_of_the_original_fits(original: tuple[Any, Any]) -> None:
    module, x = original
    back = ingot.to_torch(ingot.convert(module, x))
    for parameter in module.parameters():
        parameter.data.normal_()
    missing, unexpected = back.load_state_dict(module.state_dict(), strict=False)
    assert not [name for name in missing if "." in name]
    assert not [name for name in unexpected if not name.endswith("num_batches_tracked")]
    torch.testing.assert_close(back(x), module(x), rtol=1e-4, atol=1e-4)


def test_a_module_can_be_exported_again_with_an_open_batch(original: tuple[Any, Any]) -> None:
    module, x = original
    back = ingot.to_torch(ingot.convert(module, x, dynamic_axes={"x": {0: "batch"}}))
    again = ingot.convert(back, x[:2], dynamic_axes={"x": {0: "batch"}})
    assert str(again.outputs[0].type).startswith("float32[batch, ")


def test_sizes_stay_sizes() -> None:
    class Views(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            batch, length = x.shape[:2]
            return x.reshape(batch * length, -1).reshape(batch, length, 2, -1).transpose(1, 2)

    model = ingot.convert(Views(), torch.randn(2, 3, 8), dynamic_axes={"x": {0: "batch", 1: "length"}})
    back = ingot.to_torch(model)
    assert ".tolist()" not in back.source
    assert "torch.tensor" not in back.source
    again = ingot.convert(back, torch.randn(2, 3, 8), dynamic_axes={"x": {0: "batch", 1: "length"}})
    assert str(again.outputs[0].type) == "float32[batch, 2, length, 4]"


def test_a_weight_that_two_layers_share_stays_one() -> None:
    torch.manual_seed(0)

    class Tied(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(9, 4)
            self.head = nn.Linear(4, 9, bias=False)
            self.head.weight = self.words.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.words(x))

    tied, x = Tied().eval(), torch.tensor([[1, 2, 3]])
    back = ingot.to_torch(ingot.convert(tied, x))
    assert len(list(back.parameters())) == 1
    for each in (tied, back):
        each(x).square().sum().backward()
    [gradient] = [parameter.grad for parameter in back.parameters()]
    torch.testing.assert_close(gradient, tied.words.weight.grad)


def test_recurrent_layers_are_trained() -> None:
    torch.manual_seed(0)

    class Reader(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTM(4, 6, batch_first=True, bidirectional=True)

        def forward(self, x: Any) -> Any:
            return self.cell(x)[0]

    reader, x = Reader().eval(), torch.randn(2, 5, 4)
    back = ingot.to_torch(ingot.convert(reader, x))
    torch.testing.assert_close(back(x), reader(x), rtol=1e-5, atol=1e-6)
    back(x).square().sum().backward()
    assert all(parameter.grad is not None for parameter in back.parameters())
    assert sum(parameter.numel() for parameter in back.parameters()) == sum(p.numel() for p in reader.parameters())
