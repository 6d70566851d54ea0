"""Real packages, unmodified, on ingot's onnxruntime and on the real one: what they answer and how long they take.

test_programs.py runs it for the packages whose dependencies are installed; torch, which silero-vad needs, is too large
for the requirements of the tests, so that this one is run by hand.

    python tests/compat/run_packages.py answers.json [PACKAGE ...]        # with the onnxruntime that is installed
    python -m ingot.compat tests/compat/run_packages.py answers.json [PACKAGE ...]
    python tests/compat/run_packages.py --compare real.json ingot.json
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = ["Hello world", "ingot runs ONNX models", "2026-11-15  12:34", "Total: 1,234.56 EUR"]


def audio(seconds: float = 6.0, rate: int = 16000) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Something a voice detector takes for a voice in part: vowels of gliding pitch, with pauses, over noise."""
    t = np.arange(int(seconds * rate)) / rate
    pitch = 120 + 30 * np.sin(2 * np.pi * 0.7 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = ((700, 130), (1220, 170), (2600, 250))
    wave = np.zeros_like(t)
    for harmonic in range(1, 30):
        gain = sum(np.exp(-(((harmonic * 120 - centre) / width) ** 2)) for centre, width in formants) + 0.02
        wave += gain * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 3.5 * t), 0, 1) * (np.sin(2 * np.pi * 0.25 * t) > 0)
    noise = np.random.default_rng(0).normal(0, 0.003, t.shape)
    return np.asarray(0.15 * wave * syllables + noise, np.float32)


def silero() -> dict[str, Any]:
    torch = import_module("torch")
    vad = import_module("silero_vad")

    torch.set_num_threads(1)
    wave = torch.from_numpy(audio())
    answers: dict[str, Any] = {}
    model = vad.load_silero_vad(onnx=True)
    answers["probabilities"] = model.audio_forward(wave, sr=16000).tolist()
    answers["probabilities at 8 kHz"] = model.audio_forward(wave[: 16000 * 2 : 2], sr=8000).tolist()
    model.reset_states()
    answers["timestamps"] = vad.get_speech_timestamps(wave, model, threshold=0.3)
    model.reset_states()
    iterator = vad.VADIterator(model, threshold=0.3)
    chunks = [iterator(wave[i : i + 512]) for i in range(0, 512 * 60, 512)]
    answers["iterator"] = [chunk for chunk in chunks if chunk]
    half = vad.load_silero_vad(onnx=True, opset_version=15)
    answers["opset 15"] = half.audio_forward(wave[:16000], sr=16000).tolist()
    sequence = vad.SileroVADSequence(str(Path(str(vad.__file__)).parent / "data" / "silero_vad_16k_sequence.onnx"))
    answers["sequence"] = sequence.audio_forward(wave.numpy()).tolist()
    return answers


def magika() -> dict[str, Any]:
    samples = {
        "python": b"import os\n\ndef main(x: int) -> None:\n    print(os.getcwd(), x)\n\nmain(3)\n",
        "c": b"#include <stdio.h>\nint main(void) {\n  for (int i = 0; i < 3; i++) putchar(i);\n  return 0;\n}\n" * 3,
        "json": json.dumps({"a": [1, 2, {"b": None}], "c": "text"}, indent=2).encode() * 2,
        "random": np.random.default_rng(1).integers(0, 256, 4096, np.uint8).tobytes(),
        "html": b"<!doctype html><html><head><title>t</title></head><body><p>text</p></body></html>\n" * 4,
    }
    reader = import_module("magika").Magika()
    answers: dict[str, Any] = {}
    for name, content in samples.items():
        result = reader.identify_bytes(content)
        answers[name] = [str(result.output.label), float(result.score)]
    files = sorted((Path(__file__).parents[2] / "src" / "ingot").glob("*.py"))[:6]
    for path, result in zip(files, reader.identify_paths(files), strict=True):
        answers[path.name] = [str(result.output.label), float(result.score)]
    return answers


def rapidocr() -> dict[str, Any]:
    pil = {name: import_module(f"PIL.{name}") for name in ("Image", "ImageDraw", "ImageFont")}

    image = pil["Image"].new("RGB", (480, 60 * len(TEXTS) + 20), "white")
    draw = pil["ImageDraw"].Draw(image)
    for line, text in enumerate(TEXTS):
        draw.text((20, 20 + 60 * line), text, "black", pil["ImageFont"].load_default(30))
    result, _ = import_module("rapidocr_onnxruntime").RapidOCR()(np.asarray(image)[..., ::-1])
    lines = result or []
    return {
        "boxes": [line[0] for line in lines],
        "texts": [line[1] for line in lines],
        "scores": [float(line[2]) for line in lines],
    }


PACKAGES: dict[str, Callable[[], dict[str, Any]]] = {"silero": silero, "magika": magika, "rapidocr": rapidocr}


def answer(path: str, names: list[str]) -> None:
    report: dict[str, Any] = {"onnxruntime": import_module("onnxruntime").get_build_info()}
    for name in names or PACKAGES:
        run = PACKAGES[name]
        begin = time.perf_counter()
        answers = run()
        report[name] = {"seconds": time.perf_counter() - begin, "answers": answers}
    Path(path).write_text(json.dumps(report, indent=1))


def compare(first: str, second: str) -> bool:
    """Print how far two reports are apart; whether texts and labels are the same and numbers within 1e-3."""
    one, two = (json.loads(Path(path).read_text()) for path in (first, second))
    fine = True
    for name in PACKAGES:
        if name not in one and name not in two:
            continue
        a, b = one[name], two[name]
        sys.stdout.write(f"{name}: {a['seconds']:.2f} s and {b['seconds']:.2f} s\n")
        for key, left in a["answers"].items():
            words, numbers = _leaves(left)
            other_words, other_numbers = _leaves(b["answers"][key])
            same = words == other_words and len(numbers) == len(other_numbers)
            apart = max((abs(x - y) for x, y in zip(numbers, other_numbers, strict=False)), default=0.0)
            fine &= same and apart <= 1e-3
            said = "same" if same else f"{words} and {other_words}"
            sys.stdout.write(f"  {key}: {said}; {len(numbers)} numbers, at most {apart:.2g} apart\n")
    return fine


def _leaves(value: Any) -> tuple[list[str], list[float]]:
    if isinstance(value, dict):
        value = [item for pair in value.items() for item in pair]
    if isinstance(value, list):
        pairs = [_leaves(item) for item in value]
        return [word for words, _ in pairs for word in words], [number for _, numbers in pairs for number in numbers]
    return ([], [float(value)]) if isinstance(value, int | float) else ([str(value)], [])


if __name__ == "__main__":
    if sys.argv[1] == "--compare":
        sys.exit(0 if compare(*sys.argv[2:]) else 1)
    answer(sys.argv[1], sys.argv[2:])
