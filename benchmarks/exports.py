"""Small models as torch's exporter writes them: randomly initialised `transformers`, their sizes left open.

    python -m benchmarks.exports [--folder FOLDER] [NAME...]

writes them to build/exports, or to the folder given; those that are there already are left as they are. It needs what
requirements/exports.txt names.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx

from benchmarks.suppression import suppress

FOLDER = Path(__file__).parent.parent / "build" / "exports"

HEADS, HIDDEN, INNER, WORDS = 4, 64, 128, 100


@dataclass(frozen=True, slots=True)
class Export:
    """What the exporter is given: a module, examples of its inputs, and the axes of each that stay open."""

    module: Any
    inputs: dict[str, Any]
    open_axes: dict[str, Any]
    outputs: tuple[str, ...]
    finish: Callable[[onnx.ModelProto], None] | None = None


def missing() -> str | None:
    """Why nothing can be exported here; None if it can."""
    absent = [name for name in ("torch", "transformers", "onnxscript") if find_spec(name) is None]
    return f"{', '.join(absent)} not installed: pip install -r requirements/exports.txt" if absent else None


def export(name: str, folder: Path) -> Path:
    """The file of a model, written if it is not there yet."""
    path = folder / f"{name}.onnx"
    if path.exists():
        return path
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    made = EXPORTS[name](torch)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's remarks on its own code
        program = torch.onnx.export(
            made.module.eval(),
            kwargs=made.inputs,
            dynamo=True,
            dynamic_shapes=made.open_axes,
            output_names=list(made.outputs),
            verbose=False,
        )
    model: onnx.ModelProto = program.model_proto
    if made.finish is not None:
        made.finish(model)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return path


def bert(torch: Any) -> Export:
    """Tokens and a mask of them, batch and length open."""
    transformers: Any = import_module("transformers")
    config = transformers.BertConfig(
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        vocab_size=WORDS,
    )
    tokens = torch.randint(0, WORDS, (2, 16))
    axes = {0: "batch", 1: "tokens"}
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    return Export(transformers.BertModel(config), inputs, dict.fromkeys(inputs, axes), ("last_hidden_state", "pooled"))


def vit(torch: Any) -> Export:
    """Images, batch and size open: the positions are interpolated."""
    transformers: Any = import_module("transformers")
    config = transformers.ViTConfig(
        hidden_size=HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        image_size=32,
        patch_size=8,
    )

    def forward(self: Any, pixel_values: Any) -> Any:
        found = self.vit(pixel_values, interpolate_pos_encoding=True)
        return found.last_hidden_state, found.pooler_output

    return Export(
        _module(forward, vit=transformers.ViTModel(config)),
        {"pixel_values": torch.randn(2, 3, 48, 40)},
        {"pixel_values": {0: "batch", 2: "height", 3: "width"}},
        ("last_hidden_state", "pooled"),
    )


def whisper_encoder(torch: Any) -> Export:
    """Spectrograms, batch open: the model takes one number of frames only."""
    return Export(
        _whisper().encoder,
        {"input_features": torch.randn(2, 80, 200)},
        {"input_features": {0: "batch"}},
        ("last_hidden_state",),
    )


def whisper_decoder(torch: Any) -> Export:
    """Tokens and what the encoder made, batch and both lengths open."""

    def forward(self: Any, input_ids: Any, encoder_hidden_states: Any) -> Any:
        found = self.decoder(input_ids=input_ids, encoder_hidden_states=encoder_hidden_states, use_cache=False)
        return found.last_hidden_state

    return Export(
        _module(forward, decoder=_whisper().decoder),
        {"input_ids": torch.randint(0, WORDS, (2, 6)), "encoder_hidden_states": torch.randn(2, 10, HIDDEN)},
        {"input_ids": {0: "batch", 1: "tokens"}, "encoder_hidden_states": {0: "batch", 1: "frames"}},
        ("last_hidden_state",),
    )


def whisper_step(torch: Any) -> Export:
    """One more token with the keys and values of those before, batch and both lengths open."""
    caches: Any = import_module("transformers.cache_utils")

    def forward(self: Any, input_ids: Any, encoder_hidden_states: Any, past: Any, cross: Any) -> Any:
        cache = caches.EncoderDecoderCache(caches.DynamicCache(past), caches.DynamicCache(cross))
        found = self.decoder(
            input_ids=input_ids, encoder_hidden_states=encoder_hidden_states, past_key_values=cache, use_cache=True
        )
        layers = found.past_key_values.self_attention_cache.layers
        return found.last_hidden_state, [(layer.keys, layer.values) for layer in layers]

    def pairs(length: int) -> list[tuple[Any, Any]]:
        shape = (2, HEADS, length, HIDDEN // HEADS)
        return [(torch.randn(shape), torch.randn(shape)) for _ in range(2)]

    return Export(
        _module(forward, decoder=_whisper().decoder),
        {
            "input_ids": torch.randint(0, WORDS, (2, 1)),
            "encoder_hidden_states": torch.randn(2, 10, HIDDEN),
            "past": pairs(5),
            "cross": pairs(10),
        },
        {
            "input_ids": {0: "batch"},
            "encoder_hidden_states": {0: "batch", 1: "frames"},
            "past": [({0: "batch", 2: "before"},) * 2] * 2,
            "cross": [({0: "batch", 2: "frames"},) * 2] * 2,
        },
        ("last_hidden_state", "key_0", "value_0", "key_1", "value_1"),
    )


def detector(torch: Any) -> Export:
    """Boxes and the scores of classes for images, batch and size open, then the boxes that suppression leaves."""
    transformers: Any = import_module("transformers")
    backbone = transformers.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic", out_features=["stage2"]
    )
    config = transformers.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=HIDDEN,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        num_queries=20,
        num_labels=5,
    )

    def forward(self: Any, pixel_values: Any) -> Any:
        found = self.detector(pixel_values)
        scores = found.logits.softmax(-1)[..., :-1]
        x, y, width, height = found.pred_boxes.unbind(-1)
        corners = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
        return torch.stack(corners, -1), scores.transpose(1, 2)

    return Export(
        _module(forward, detector=transformers.DetrForObjectDetection(config)),
        {"pixel_values": torch.randn(2, 3, 64, 96)},
        {"pixel_values": {0: "batch", 2: "height", 3: "width"}},
        ("boxes", "scores"),
        suppress,
    )


def _module(forward: Callable[..., Any], **parts: Any) -> Any:
    """A module of the given parts that computes `forward`."""
    torch: Any = import_module("torch")
    made = type("Module", (torch.nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def _whisper() -> Any:
    transformers: Any = import_module("transformers")
    config = transformers.WhisperConfig(
        d_model=HIDDEN,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS,
        encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER,
        vocab_size=WORDS,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        max_source_positions=100,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return transformers.WhisperModel(config)


EXPORTS: dict[str, Callable[[Any], Export]] = {
    "bert": bert,
    "vit": vit,
    "whisper_encoder": whisper_encoder,
    "whisper_decoder": whisper_decoder,
    "whisper_step": whisper_step,
    "detector": detector,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exports", description="write the exported models")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPORTS)}; all, if none is given")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files go")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in EXPORTS:
            parser.error(f"no model {name!r}; there are: {', '.join(EXPORTS)}")
    why = missing()
    if why is not None:
        print(why, file=sys.stderr)
        return 1
    for name in options.names or EXPORTS:
        print(export(name, options.folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
