"""The models of real packages, driven by the calls those packages make.

What is expected is what onnxruntime 1.31.1 answers for the same input; test_programs.py has the packages themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ingot.compat.onnxruntime as ort
from ingot.dtypes import Array
from models import real_models

PATHS = {path.name if path.name != "model.onnx" else "magika.onnx": path for path in real_models()}


@pytest.fixture(autouse=True)
def as_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INGOT_PROVIDERS", "cpu,reference")


def noise(*shape: int, scale: float = 1.0) -> Array:
    return (np.random.default_rng(7).uniform(-1, 1, shape) * scale).astype(np.float32)


def page(count: int, channels: int, height: int, width: int) -> Array:
    """White with a dark bar that has gaps in it: something a reader of text reacts to."""
    image = np.ones((count, channels, height, width), np.float32)
    image[..., height // 3 : 2 * height // 3, 8 : width - 8] = -1
    image[..., height // 3 + 2 : 2 * height // 3 - 2, 12 : width - 12 : 6] = 1
    image[..., height // 2, 10 : width - 10] = 1
    return image


def near(found: Any, expected: list[float]) -> None:
    np.testing.assert_allclose(np.asarray(found).reshape(-1), expected, rtol=1e-3, atol=2e-6)


def silero_session(name: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = 1
    assert "CPUExecutionProvider" in ort.get_available_providers()
    return ort.InferenceSession(str(PATHS[name]), providers=["CPUExecutionProvider"], sess_options=options)


SILERO = {
    ("silero_vad.onnx", 16000): [0.0063644, 0.0177384, 0.0244375, 0.0257849],
    ("silero_vad.onnx", 8000): [0.0089132, 0.0207838, 0.0154137, 0.0147399],
    ("silero_vad_16k_op15.onnx", 16000): [0.0063644, 0.0177384, 0.0244375, 0.0257849],
    ("silero_vad_op18_ifless.onnx", 16000): [0.0063644, 0.0177383, 0.0244374, 0.0257849],
    ("silero_vad_op18_ifless.onnx", 8000): [0.0102731, 0.0231405, 0.0209444, 0.0179557],
}
OCR = {
    "ch_PP-OCRv4_det_infer.onnx": ((1, 3, 64, 96), (1, 1, 64, 96), [0.984681, 0.00130741, 0.031224]),
    "ch_PP-OCRv4_rec_infer.onnx": ((2, 3, 48, 64), (2, 8, 6625), [0.939862, 0.000150943, 0.00952718]),
    "ch_ppocr_mobile_v2.0_cls_infer.onnx": ((1, 3, 48, 192), (1, 2), [0.716279, 0.5, 0.216279]),
}


@pytest.mark.parametrize(("name", "rate"), SILERO)
def test_silero_vad_follows_a_signal_chunk_by_chunk(name: str, rate: int) -> None:
    session = silero_session(name)
    samples, context = (512, 64) if rate == 16000 else (256, 32)
    wave = noise(1, samples * 4, scale=0.3) * np.sin(np.arange(samples * 4) / 40, dtype=np.float32)
    state = np.zeros((2, 1, 128), np.float32)
    before = np.zeros((1, context), np.float32)
    found = []
    for start in range(0, wave.shape[1], samples):
        x = np.concatenate([before, wave[:, start : start + samples]], axis=1)
        out, state = session.run(None, {"input": x, "state": state, "sr": np.array(rate, dtype="int64")})
        before = x[..., -context:]
        found.append(out.item())
    near(found, SILERO[name, rate])


def test_silero_vad_takes_a_sequence_at_once() -> None:
    session = silero_session("silero_vad_16k_sequence.onnx")
    zeros = np.zeros((1, 1, 128), np.float32)
    feeds = {"input": noise(4, 576, scale=0.3), "h": zeros, "c": zeros}
    probabilities, hidden, cell = session.run(["speech_probs", "hn", "cn"], feeds)
    near(probabilities, [0.0043887, 0.0114514, 0.0152816, 0.0265664])
    assert hidden.shape == cell.shape == (1, 1, 128)


def test_magika_feeds_lists_of_lists() -> None:
    ort.disable_telemetry_events()
    session = ort.InferenceSession(PATHS["magika.onnx"], providers=["CPUExecutionProvider"])
    text = b"def main() -> None:\n    print('hello')\n"
    features = [[*text, *[256] * (1024 - len(text)), *[256] * (1024 - len(text)), *text], [*range(256)] * 8]
    scores = session.run(["target_label"], {"bytes": features})[0]
    assert scores.shape == (2, 214)
    assert scores.argmax(axis=1).tolist() == [143, 142]
    near(scores.max(axis=1), [0.982618, 0.343917])


def ocr_session(name: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})]
    return ort.InferenceSession(str(PATHS[name]), sess_options=options, providers=providers)


@pytest.mark.parametrize("name", OCR)
def test_rapidocr_finds_turns_and_reads_text(name: str) -> None:
    session = ocr_session(name)
    assert session.get_providers() == ["CPUExecutionProvider"]
    shape, expected_shape, expected = OCR[name]
    names = [value.name for value in session.get_inputs()]
    outputs = [value.name for value in session.get_outputs()]
    (result,) = session.run(outputs, dict(zip(names, [page(*shape)], strict=True)))
    assert result.shape == expected_shape
    near([result.max(), result.mean(), result.std()], expected)


def test_rapidocr_reads_its_alphabet_from_the_metadata() -> None:
    known = ocr_session("ch_PP-OCRv4_rec_infer.onnx").get_modelmeta().custom_metadata_map
    assert len(known["character"].splitlines()) == 6623
