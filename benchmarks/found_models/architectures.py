"""Architectures of `transformers`, made small by the names of the fields of their configurations, exported by torch.

    python -m benchmarks.found_models.architectures [TYPE...]

Each type of model (all, or those named) is built with random weights and written to `generated/transformers`, by the
exporter that traces and, every third, by the newer one too, in opsets 14 to 23. What cannot be built, run or exported
in time is passed over. Types run in processes of their own, as some take all the memory there is.
"""

from __future__ import annotations

import io
import multiprocessing
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.found_models import FOLDER

_LIMIT = 60
"""Seconds that a type may take."""
_MOST_PARAMETERS = 6_000_000
_OPSETS = {False: (14, 15, 16, 17, 18), True: (18, 20, 21, 22, 23)}
"""By whether the newer exporter writes them."""

_SMALL: dict[str, int] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "encoder_hidden_dim", "word_embed_proj_dim"), 64),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "intermediate_size", "hidden_dim"), 128),
    **dict.fromkeys(("d_ff", "ffn_hidden_size", "max_position_embeddings"), 128),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    "num_key_value_heads": 2,
    "d_kv": 16,
    "head_dim": 16,
    "vocab_size": 120,
    "image_size": 64,
    "patch_size": 16,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "num_queries": 10,
    "embedding_size": 32,
    "projection_dim": 32,
    "max_source_positions": 100,
    "max_target_positions": 64,
    "num_mel_bins": 40,
    "state_size": 8,
    "rotary_dim": 8,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "v_head_dim": 16,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
    "use_cache": False,
}
_PARTS = ("vision_config", "text_config", "audio_config", "encoder_config", "decoder_config", "backbone_config")
_TASKS = (
    "CTC", "CAUSAL_LM", "MASKED_LM", "IMAGE_CLASSIFICATION", "OBJECT_DETECTION", "DEPTH_ESTIMATION",
    "SEMANTIC_SEGMENTATION", "SEQ_TO_SEQ_CAUSAL_LM",
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    import_module("torch").set_num_threads(1)  # others would not survive the fork
    import_module("transformers.models.auto.modeling_auto")
    types = sorted(import_module("transformers").CONFIG_MAPPING)
    folder = FOLDER / "generated" / "transformers"
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    for place, name in enumerate(types):
        if arguments and name not in arguments:
            continue
        for newer in (False, True) if place % 3 == 0 else (False,):
            opset = _OPSETS[newer][place % 5]
            path = folder / f"{name}-{'export' if newer else 'trace'}-{opset}.onnx"
            process = context.Process(target=_write, args=(name, newer, opset, path))
            process.start()
            process.join(_LIMIT)
            process.kill()
            print(name, path.exists(), flush=True)
    return 0


def _write(name: str, newer: bool, opset: int, path: Path) -> None:
    warnings.simplefilter("ignore")
    torch: Any = import_module("torch")
    model = _small(name)
    inputs = _inputs(model)

    class Tuples(torch.nn.Module):  # type: ignore[misc]
        """The outputs that are tensors."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *values: Any) -> Any:
            outputs = self.model(**dict(zip(inputs, values, strict=True)), return_dict=True)
            return tuple(value for value in outputs.values() if isinstance(value, torch.Tensor))

    values = tuple(inputs.values())
    with torch.no_grad():
        if newer:
            program = torch.onnx.export(Tuples().eval(), values, dynamo=True, verbose=False, opset_version=opset)
            path.write_bytes(program.model_proto.SerializeToString())
            return
        stream = io.BytesIO()
        words = {0: "batch", 1: "length"}
        axes = {key: words if "ids" in key or "mask" in key else {0: "batch"} for key in inputs}
        options = {"input_names": list(inputs), "dynamic_axes": axes, "opset_version": opset}
        torch.onnx.export(Tuples().eval(), values, stream, dynamo=False, **options)
        path.write_bytes(stream.getvalue())


def _small(name: str) -> Any:
    """A model of a type, for the first task that there is a class for, with random weights."""
    transformers: Any = import_module("transformers")
    auto: Any = import_module("transformers.models.auto.modeling_auto")
    tables = [getattr(auto, f"MODEL_FOR_{task}_MAPPING_NAMES") for task in _TASKS]
    classes = [table[name] for table in (*tables, auto.MODEL_MAPPING_NAMES) if name in table]
    import_module("torch").manual_seed(0)
    for kind in classes:
        for attention in ("sdpa", "eager"):
            with suppress(Exception):  # whatever a configuration made small breaks
                config = transformers.CONFIG_MAPPING[name]()
                _shrink(config)
                config._attn_implementation = attention
                model = getattr(transformers, kind[0] if isinstance(kind, tuple) else kind)(config).eval()
                if sum(parameter.numel() for parameter in model.parameters()) <= _MOST_PARAMETERS:
                    return model
    raise ValueError(f"no small {name}")


def _shrink(config: Any) -> None:
    for field, size in _SMALL.items():
        if isinstance(getattr(config, field, None), int):
            setattr(config, field, size)
    kinds = getattr(config, "layer_types", None)
    if isinstance(kinds, list) and len(kinds) > 2:
        config.layer_types = (list(dict.fromkeys(kinds)) * 2)[: max(2, len(set(kinds)))]
        config.num_hidden_layers = len(config.layer_types)
    for part in _PARTS:
        if hasattr(getattr(config, part, None), "to_dict"):
            _shrink(getattr(config, part))


def _inputs(model: Any) -> dict[str, Any]:
    """The first of some attempts that the model runs on."""
    torch: Any = import_module("torch")
    for attempt in _attempts(torch, model):
        with suppress(Exception), torch.no_grad():
            model(**attempt, return_dict=True)
            return attempt
    raise ValueError("no inputs")


def _attempts(torch: Any, model: Any) -> Iterator[dict[str, Any]]:
    ids, name = torch.randint(3, 100, (1, 24)), model.main_input_name
    if name == "input_ids":
        yield {name: ids, "attention_mask": torch.ones(1, 24, dtype=torch.long)}
        yield {name: ids}
        yield {name: ids, "decoder_input_ids": ids[:, :7].clone()}
    elif name == "pixel_values":
        yield from ({name: torch.randn(1, 3, size, size)} for size in (64, 128, 224))
    elif name == "input_values":
        yield from ({name: torch.randn(shape)} for shape in ((1, 8000), (1, 1, 8000), (1, 128, 64)))
    elif name == "input_features":
        for bands in (40, 80, 128):
            yield {name: torch.randn(1, bands, 200)}
            yield {name: torch.randn(1, 200, bands)}
            yield {name: torch.randn(1, bands, 200), "decoder_input_ids": ids[:, :6].clone()}
    elif name == "past_values":
        config = model.config
        yield {name: torch.randn(1, getattr(config, "context_length", 24), getattr(config, "num_input_channels", 3))}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
