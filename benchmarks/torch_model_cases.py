"""Architectures of transformers that the converter is measured on, small and random, with the inputs they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers as tf

TEXT = {0: "batch", 1: "seq"}
SIZES: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
WORDS: dict[str, Any] = {**SIZES, "vocab_size": 99, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
DECODER: dict[str, Any] = {**WORDS, "num_key_value_heads": 2, "max_position_embeddings": 64}


@dataclass(frozen=True)
class Case:
    """A module, the keywords it is called with, and the axes that stay open."""

    module: Any
    inputs: dict[str, Any]
    axes: dict[str, dict[int, str]]


MODELS: dict[str, Callable[[], Case]] = {}


def model(build: Callable[[], Case]) -> Callable[[], Case]:
    def seeded() -> Case:
        torch.manual_seed(0)
        return build()

    MODELS[build.__name__] = seeded
    return seeded


def words(rows: int = 2, length: int = 7) -> Any:
    return torch.randint(3, 99, (rows, length))


def seen(rows: int = 2, length: int = 7) -> Any:
    """A mask that hides the last two words."""
    return torch.cat([torch.ones(rows, length - 2), torch.zeros(rows, 2)], 1).to(torch.int64)


def text(module: Any, **more: Any) -> Case:
    inputs = {"input_ids": words(), "attention_mask": seen(), **more}
    return Case(module.eval(), inputs, {"input_ids": TEXT, "attention_mask": TEXT})


def image(module: Any, size: int = 32) -> Case:
    settle(module, {"pixel_values": torch.randn(8, 3, size, size)})
    return Case(module.eval(), {"pixel_values": torch.randn(2, 3, size, size)}, {"pixel_values": {0: "batch"}})


def settle(module: Any, inputs: dict[str, Any]) -> None:
    """Give convolutions weights that keep their input large, and batch normalisations the moments of a batch: as they
    start, deep networks of random weights compute next to nothing, and everything would agree.
    """
    for part in module.modules():
        if isinstance(part, torch.nn.Conv2d):
            torch.nn.init.kaiming_normal_(part.weight)
    norms = [part for part in module.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 1.0
    if norms:
        with torch.no_grad():
            module.train()(**inputs)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


@model
def bert() -> Case:
    return text(tf.BertModel(tf.BertConfig(**WORDS, max_position_embeddings=64)))


@model
def distilbert() -> Case:
    config = tf.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=99, max_position_embeddings=64
    )
    return text(tf.DistilBertModel(config))


@model
def roberta() -> Case:
    return text(tf.RobertaModel(tf.RobertaConfig(**WORDS, max_position_embeddings=64)))


@model
def gpt2() -> Case:
    config = tf.GPT2Config(
        n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, bos_token_id=1, eos_token_id=2
    )
    return text(tf.GPT2LMHeadModel(config), use_cache=False)


@model
def llama() -> Case:
    return text(tf.LlamaForCausalLM(tf.LlamaConfig(**DECODER)), use_cache=False)


@model
def mistral() -> Case:
    return text(tf.MistralForCausalLM(tf.MistralConfig(**DECODER, sliding_window=4)), use_cache=False)


@model
def qwen2() -> Case:
    return text(tf.Qwen2ForCausalLM(tf.Qwen2Config(**DECODER)), use_cache=False)


@model
def gemma() -> Case:
    return text(tf.GemmaForCausalLM(tf.GemmaConfig(**DECODER, head_dim=8)), use_cache=False)


@model
def t5() -> Case:
    config = tf.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99)
    case = text(tf.T5ForConditionalGeneration(config), decoder_input_ids=words(2, 5), use_cache=False)
    return Case(case.module, case.inputs, {**case.axes, "decoder_input_ids": {0: "batch", 1: "target"}})


@model
def whisper() -> Case:
    config = tf.WhisperConfig(
        d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=99, num_mel_bins=16, max_source_positions=20,
        max_target_positions=30, pad_token_id=1, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        begin_suppress_tokens=None,
    )  # fmt: skip
    inputs = {"input_features": torch.randn(2, 16, 40), "decoder_input_ids": words(2, 5), "use_cache": False}
    axes = {"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}}
    return Case(tf.WhisperForConditionalGeneration(config).eval(), inputs, axes)


@model
def vit() -> Case:
    return image(tf.ViTModel(tf.ViTConfig(**SIZES, image_size=32, patch_size=8)))


@model
def swin() -> Case:
    config = tf.SwinConfig(image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
    return image(tf.SwinModel(config))


@model
def convnext() -> Case:
    return image(tf.ConvNextModel(tf.ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1])), 64)


@model
def resnet() -> Case:
    config = tf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1])
    return image(tf.ResNetForImageClassification(config), 64)


@model
def mobilenet_v2() -> Case:
    return image(tf.MobileNetV2ForImageClassification(tf.MobileNetV2Config(depth_multiplier=0.25, image_size=64)), 64)


@model
def efficientnet() -> Case:
    config = tf.EfficientNetConfig(image_size=64, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320)
    return image(tf.EfficientNetModel(config), 64)


@model
def segformer() -> Case:
    config = tf.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 24, 32], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32
    )
    return image(tf.SegformerForSemanticSegmentation(config), 64)


@model
def yolos() -> Case:
    config = tf.YolosConfig(**SIZES, image_size=[32, 32], patch_size=8, num_detection_tokens=6)
    return image(tf.YolosForObjectDetection(config))


@model
def clip() -> Case:
    config = tf.CLIPConfig(
        text_config={**WORDS, "max_position_embeddings": 32, "projection_dim": 16},
        vision_config={**SIZES, "image_size": 32, "patch_size": 8, "projection_dim": 16},
        projection_dim=16,
    )
    inputs = {"input_ids": words(3), "pixel_values": torch.randn(2, 3, 32, 32), "attention_mask": seen(3)}
    texts = {0: "texts", 1: "seq"}
    axes = {"input_ids": texts, "attention_mask": texts, "pixel_values": {0: "images"}}
    return Case(tf.CLIPModel(config).eval(), inputs, axes)


@model
def wav2vec2() -> Case:
    config = tf.Wav2Vec2Config(
        **WORDS, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_feat_extract_layers=3,
        num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    axes = {"input_values": {0: "batch", 1: "samples"}}
    return Case(tf.Wav2Vec2Model(config).eval(), {"input_values": torch.randn(2, 400)}, axes)


@model
def mamba() -> Case:
    """Its scan is a Python loop over the sequence in transformers, which torch.export can only unroll."""
    config = tf.MambaConfig(hidden_size=32, num_hidden_layers=2, vocab_size=99, state_size=4)
    module = tf.MambaForCausalLM(config).eval()
    return Case(module, {"input_ids": words(), "use_cache": False}, {"input_ids": {0: "batch"}})
