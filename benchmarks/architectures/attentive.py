"""Networks of attention: vision transformers and models of text."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

from benchmarks.architectures.made import BATCH, Made, of_images

TOKENS = 128
_TEXT = {0: "batch", 1: "tokens"}


def vit_base() -> Made:
    """Dosovitskiy et al. 2020, patches of 16."""
    from transformers import ViTConfig, ViTForImageClassification

    return of_images(ViTForImageClassification(ViTConfig(num_labels=1000)), 224)


def swin_tiny() -> Made:
    """Liu et al. 2021."""
    from transformers import SwinConfig, SwinForImageClassification

    return of_images(SwinForImageClassification(SwinConfig(num_labels=1000)), 224)


def bert_base() -> Made:
    """Devlin et al. 2018, with its pooler."""
    from transformers import BertConfig, BertModel

    return _of_text(BertModel(BertConfig()), 30522, "hidden", "pooled")


def distilbert() -> Made:
    """Sanh et al. 2019."""
    from transformers import DistilBertConfig, DistilBertModel

    return _of_text(DistilBertModel(DistilBertConfig()), 30522, "hidden")


def gpt2_prefill() -> Made:
    """Radford et al. 2019, the small one: logits of a prompt, and its keys and values."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config()

    class Prefill(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = GPT2LMHeadModel(config)

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            answer = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=True)
            return answer.logits, [(layer.keys, layer.values) for layer in answer.past_key_values.layers]

    return _of_text(Prefill(), config.vocab_size, "logits", *cache_names("present", config.n_layer))


def cache_names(prefix: str, layers: int) -> tuple[str, ...]:
    """`prefix.0.key`, `prefix.0.value`, and so on for each layer."""
    return tuple(f"{prefix}.{layer}.{kind}" for layer in range(layers) for kind in ("key", "value"))


def _of_text(module: Any, vocabulary: int, *outputs: str) -> Made:
    import torch

    tokens = torch.randint(0, vocabulary, (BATCH, TOKENS))
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    return Made(module, inputs, dict.fromkeys(inputs, _TEXT), outputs)
