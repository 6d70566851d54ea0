"""Complex numbers in torch are two real tensors in the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ingot
from ingot.convert import Request, converted

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")
nn = torch.nn


class Call(nn.Module):  # type: ignore[misc,name-defined]
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, *tensors: Any) -> Any:
        return self.fn(*tensors)


def verified(fn: Any, *tensors: Any, axes: Any = None) -> Any:
    module = fn if isinstance(fn, nn.Module) else Call(fn)
    torch.manual_seed(0)
    return converted(module, tensors, Request(dynamic_axes=axes))[0]


def whole(x: Any) -> Any:
    return torch.view_as_complex(x)


@pytest.mark.parametrize(
    "fn",
    [
        lambda a, b: torch.view_as_real((whole(a) + 1) * whole(b).conj() / whole(a) - whole(b)),
        lambda a, _: torch.view_as_real(whole(a) * 2.5 + 3j),
        lambda a, b: (whole(a).abs(), whole(b).angle(), whole(a) == whole(b)),
        lambda a, b: torch.view_as_real(whole(a) @ whole(b).transpose(0, 1)),
        lambda a, b: torch.view_as_real(torch.cat([whole(a).sum(0, keepdim=True), whole(b)])[1:].reshape(-1)),
        lambda a, b: torch.view_as_real(torch.exp(whole(a)) + torch.log(whole(b))),
        lambda a, _: torch.view_as_real(whole(a) ** 3),
        lambda a, b: torch.view_as_real(torch.where(whole(a).abs() > 1, whole(a), whole(b) * 0 + 1)),
        lambda a, _: torch.view_as_real(torch.nn.functional.pad(whole(a), (1, 2), value=2.0)),
        lambda a, b: torch.view_as_real(a[..., 0] + whole(b)),
    ],
)
def test_arithmetic_and_movement_of_complex_numbers_are_equal(fn: Any) -> None:
    verified(fn, torch.randn(3, 4, 2), torch.randn(3, 4, 2))


def test_a_complex_input_and_output_are_pairs_along_a_last_axis() -> None:
    made = verified(lambda x: x * 1j, torch.randn(3, dtype=torch.complex64))
    assert [str(value.type) for value in [*made.inputs, *made.outputs]] == ["float32[3, 2]", "float32[3, 2]"]


def test_a_complex_buffer_keeps_its_name() -> None:
    class Rotary(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("turns", torch.polar(torch.ones(5, 4), torch.linspace(0, 3, 20).reshape(5, 4)))

        def forward(self, x: Any) -> Any:
            pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
            return torch.view_as_real(pairs * self.turns).flatten(2)

    made = ingot.export(Rotary(), torch.randn(2, 5, 8), do_constant_folding=False)
    assert "turns" in made.graph.initializers


def test_rotary_positions_by_polar_keep_batch_and_length_open() -> None:
    def rotated(x: Any, angles: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        turns = torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(pairs * turns[None, :, None]).flatten(3)

    made = verified(rotated, torch.randn(2, 5, 4, 8), torch.randn(5, 4), axes=[{0: "n", 1: "t"}, {0: "t"}])
    assert str(made.outputs[0].type) == "float32[n, t, 4, 8]"


@pytest.mark.parametrize("norm", ["forward", "ortho", "backward"])
def test_transforms_there_and_back_are_equal(norm: str) -> None:
    fft = torch.fft
    verified(lambda x: fft.irfft2(fft.rfft2(x, norm=norm) * 2, norm=norm), torch.randn(2, 6, 8))
    verified(lambda x: torch.view_as_real(fft.ifft(fft.fft(x, norm=norm), n=5, norm=norm)), torch.randn(2, 7))


def test_a_spectrogram_of_an_open_length_is_equal() -> None:
    window = torch.hann_window(8)

    def power(x: Any) -> Any:
        return torch.stft(x, 8, 4, window=window, return_complex=True).abs() ** 2

    made = verified(power, torch.randn(2, 40), axes=[{0: "n", 1: "t"}])
    assert str(made.outputs[0].type) == "float32[n, 5, t//4 + 1]"


def test_a_spectrum_turned_back_into_sound_is_equal() -> None:
    window = torch.hann_window(8)

    def back(x: Any) -> Any:
        spectrum = torch.stft(x, 8, 4, window=window, return_complex=True)
        return torch.istft(spectrum, 8, 4, window=window)

    verified(back, torch.randn(2, 40))


def test_an_operator_without_a_rule_for_complex_numbers_says_so() -> None:
    with pytest.raises(ingot.ConvertError) as caught:
        verified(lambda x: torch.view_as_real(torch.tanh(whole(x))), torch.randn(3, 2))
    assert "aten.tanh.default: no rule for it with complex numbers" in "\n".join(caught.value.where)
