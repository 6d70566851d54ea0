"""Whisper-tiny: its encoder, and one step of its decoder."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

from benchmarks.architectures.attentive import cache_names
from benchmarks.architectures.made import BATCH, Made

FRAMES = 3000
BEFORE = 32
"""Tokens decoded before the step."""


def whisper_encoder() -> Made:
    """Radford et al. 2022: 30 seconds of sound as a spectrogram."""
    import torch

    encoder = _whisper().model.encoder
    inputs = {"input_features": torch.randn(BATCH, 80, FRAMES)}
    return Made(encoder, inputs, {"input_features": {0: "batch"}}, ("hidden",))


def whisper_decoder_step() -> Made:
    """One more token from the keys and values of those before and of the encoder: its logits, the longer cache."""
    import torch
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    whisper = _whisper()
    config = whisper.config

    class Step(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.decoder = whisper.model.decoder
            self.head = whisper.proj_out

        def forward(self, input_ids: Any, past: Any, cross: Any) -> Any:
            answer = self.decoder(
                input_ids=input_ids,
                encoder_hidden_states=torch.zeros(1, 1, config.d_model),  # not read: its keys and values are cached
                past_key_values=EncoderDecoderCache(DynamicCache(past), DynamicCache(cross)),
                use_cache=True,
            )
            layers = answer.past_key_values.self_attention_cache.layers
            return self.head(answer.last_hidden_state), [(layer.keys, layer.values) for layer in layers]

    def cache(length: int) -> list[tuple[Any, Any]]:
        shape = (BATCH, config.decoder_attention_heads, length, config.d_model // config.decoder_attention_heads)
        return [(torch.randn(shape), torch.randn(shape)) for _ in range(config.decoder_layers)]

    def axes(name: str) -> list[tuple[dict[int, str], ...]]:
        return [({0: "batch", 2: name},) * 2] * config.decoder_layers

    names = ("input_ids", *cache_names("past", config.decoder_layers), *cache_names("cross", config.decoder_layers))
    return Made(
        Step(),
        {
            "input_ids": torch.randint(0, config.vocab_size, (BATCH, 1)),
            "past": cache(BEFORE),
            "cross": cache(FRAMES // 2),
        },
        {"input_ids": {0: "batch"}, "past": axes("before"), "cross": axes("frames")},
        ("logits", *cache_names("present", config.decoder_layers)),
        names,
    )


def _whisper() -> Any:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    return WhisperForConditionalGeneration(WhisperConfig())
