"""Three small classifiers that quantisers are compared on: digits, sentences and sounds.

The digits are the bundled example and scikit-learn's images. The others are trained here, in half a minute each, on
data that is generated: sentences of twenty topics whose words overlap, read by a transformer, and twelve kinds of
sounds in noise, read as spectrograms by a network of separable convolutions.
"""

# mypy: disable-error-code="import-not-found, misc"

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ingot
from ingot.dataclass import dataclass

ROOT = Path(__file__).parents[1]
TOPICS, WORDS, LENGTH = 20, 900, 24
SOUNDS = (
    "sine", "square", "saw", "triangle", "rising", "falling", "tremolo", "vibrato", "white", "pink", "pulses", "dyad",
)  # fmt: skip
RATE, SAMPLES, FRAME, BANDS = 8000, 4096, 256, 40


@dataclass(frozen=True, slots=True)
class Classifier:
    """A trained model of one input, what it may be calibrated on, and what it is judged by."""

    name: str
    model: ingot.Model
    calibration: Any
    held_out: Any
    labels: Any

    @property
    def input(self) -> str:
        return self.model.graph.inputs[0].name

    def accuracy(self, model: ingot.Model | ingot.Session) -> float:
        """The part of the held-out data that a model names rightly."""
        session = model if isinstance(model, ingot.Session) else ingot.Session(model)
        parts = np.array_split(self.held_out, max(1, len(self.held_out) // 256))
        guesses = np.concatenate([session.run(None, {self.input: part})[0].argmax(1) for part in parts])
        return float((guesses == self.labels).mean())


def digits() -> Classifier:
    """Images of 8 × 8, read by the example's network of three products."""
    from sklearn.datasets import load_digits

    data = load_digits()
    images = (data.images / 16).astype(np.float32)[:, None]
    held_out = np.arange(len(images)) % 5 == 0
    model = ingot.load(ROOT / "examples" / "digits.onnx")
    return Classifier("digits", model, images[~held_out][:256], images[held_out], data.target[held_out])


def sentences() -> Classifier:
    """Topics of sentences, read by a transformer of two layers."""
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(WORDS, 64)
            self.places = nn.Parameter(torch.randn(LENGTH, 64))
            layers = [nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True) for _ in range(2)]
            self.layers = nn.ModuleList(layers)
            self.topics = nn.Linear(64, TOPICS)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.places
            for layer in self.layers:
                x = layer(x)
            return self.topics(x.mean(1))

    torch.manual_seed(0)
    tokens, labels = _sentences(8000)
    return _trained("sentences", Reader(), tokens, labels, rounds=8, rate=2e-3)


def sounds() -> Classifier:
    """Kinds of sounds in noise, read from spectrograms by separable convolutions."""
    import torch
    from torch import nn

    def block(inputs: int, outputs: int) -> Sequence[nn.Module]:
        return (
            nn.Conv2d(inputs, inputs, 3, 2, 1, groups=inputs, bias=False), nn.BatchNorm2d(inputs), nn.ReLU6(),
            nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU6(),
        )  # fmt: skip

    torch.manual_seed(0)
    first = nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU6()
    last = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, len(SOUNDS))
    network = nn.Sequential(*first, *block(16, 32), *block(32, 48), *block(48, 64), *last)
    spectra, labels = _sounds(4000)
    return _trained("sounds", network, spectra, labels, rounds=8, rate=5e-3)


CLASSIFIERS: dict[str, Callable[[], Classifier]] = {"digits": digits, "sentences": sentences, "sounds": sounds}


def _trained(task: str, network: Any, inputs: Any, labels: Any, rounds: int, rate: float) -> Classifier:
    """A network after some rounds over four fifths of the data, as a model; the last fifth is held out."""
    import torch

    [name] = inspect.signature(network.forward).parameters
    torch.set_num_threads(1)
    x, y = torch.from_numpy(inputs), torch.from_numpy(labels)
    cut = len(x) * 4 // 5
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=rounds * (cut // 64))
    network.train()
    for _ in range(rounds):
        order = torch.randperm(cut)
        for step in range(cut // 64):
            batch = order[64 * step : 64 * step + 64]
            loss = torch.nn.functional.cross_entropy(network(x[batch]), y[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    model = ingot.convert(network.eval(), {name: x[:4]}, dynamic_axes={name: {0: "n"}})
    return Classifier(task, model, inputs[:256], inputs[cut:], labels[cut:])


def _sentences(count: int) -> tuple[Any, Any]:
    """Sentences as numbers of words: two fifths from a topic's own words, most of which its neighbours share."""
    rng = np.random.default_rng(0)
    topics = rng.integers(0, TOPICS, count)
    common = rng.zipf(1.3, (count, LENGTH)) % 300
    own = 300 + (topics[:, None] * 30 + rng.integers(0, 90, (count, LENGTH))) % 600
    tokens = np.where(rng.random((count, LENGTH)) < 0.4, own, common)
    return tokens.astype(np.int64), topics.astype(np.int64)


def _sounds(count: int) -> tuple[Any, Any]:
    """Logarithms of spectra over time, of sounds at any pitch in more or less noise."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, len(SOUNDS), count)
    spectra = np.stack([_spectrum(_sound(SOUNDS[kind], rng), rng) for kind in kinds])
    return spectra[:, None].astype(np.float32), kinds.astype(np.int64)


def _sound(kind: str, rng: np.random.Generator) -> Any:
    time = np.arange(SAMPLES) / RATE
    pitch = 150 * 2 ** (3 * rng.random())
    sweep = 1 + 2 * rng.random()
    turns = pitch * time
    match kind:
        case "square":
            return np.sign(np.sin(2 * np.pi * turns))
        case "saw":
            return 2 * (turns % 1) - 1
        case "triangle":
            return 4 * np.abs(turns % 1 - 0.5) - 1
        case "rising" | "falling":
            ends = 1 + (sweep - 1) * (time / time[-1] if kind == "rising" else 1 - time / time[-1])
            return np.sin(2 * np.pi * np.cumsum(pitch * ends) / RATE)
        case "tremolo":
            return np.sin(2 * np.pi * turns) * (0.5 + 0.5 * np.sin(2 * np.pi * (4 + 8 * rng.random()) * time))
        case "vibrato":
            return np.sin(2 * np.pi * turns + 6 * np.sin(2 * np.pi * (4 + 4 * rng.random()) * time))
        case "white":
            return rng.standard_normal(SAMPLES)
        case "pink":
            parts = np.fft.rfft(rng.standard_normal(SAMPLES))
            return np.fft.irfft(parts / np.sqrt(np.arange(1, len(parts) + 1))) * 8
        case "pulses":
            return 4.0 * (np.arange(SAMPLES) % int(RATE / (10 + 30 * rng.random())) < 12)
        case "dyad":
            return np.sin(2 * np.pi * turns) + np.sin(2 * np.pi * turns * 1.5)
    return np.sin(2 * np.pi * turns)


def _spectrum(sound: Any, rng: np.random.Generator) -> Any:
    """Energies of bands of frequencies in frames that overlap by half, in decibels, about zero."""
    noisy = sound + 10 ** (-(rng.random() * 20) / 20) * rng.standard_normal(SAMPLES)
    frames = np.lib.stride_tricks.sliding_window_view(noisy, FRAME)[:: FRAME // 2] * np.hanning(FRAME)
    energies = np.abs(np.fft.rfft(frames))[:, 1:] ** 2
    edges = np.unique(np.geomspace(1, FRAME // 2, 2 * BANDS).astype(int))
    bands = np.stack([part.mean(1) for part in np.split(energies, edges[:-1], axis=1)[:BANDS]])
    return (10 * np.log10(bands + 1e-6) - 10) / 20
