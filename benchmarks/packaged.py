"""Trained models that packages on PyPI carry, and what to measure them at."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Packaged:
    """A file of a package, the shapes of its inputs, and the values of those that are settings."""

    package: str
    file: str
    shapes: dict[str, list[int]]
    values: dict[str, int] = field(default_factory=dict)


_OCR = "rapidocr_onnxruntime"

PACKAGED = {
    "silero_vad": Packaged(
        "silero_vad", "data/silero_vad.onnx", {"input": [1, 576], "state": [2, 1, 128]}, {"sr": 16000}
    ),
    "magika": Packaged("magika", "models/standard_v3_3/model.onnx", {"bytes": [1, 2048]}),
    "ocr_detect": Packaged(_OCR, "models/ch_PP-OCRv4_det_infer.onnx", {"x": [1, 3, 640, 640]}),
    "ocr_turn": Packaged(_OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": [1, 3, 48, 192]}),
    "ocr_read": Packaged(_OCR, "models/ch_PP-OCRv4_rec_infer.onnx", {"x": [1, 3, 48, 320]}),
}
