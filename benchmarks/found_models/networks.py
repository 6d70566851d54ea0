"""Networks of `transformers` with small random configurations, exported by torch."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

_TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
}


@dataclass(frozen=True, slots=True)
class Network:
    """A class of `transformers`, its configuration, and the shapes of its inputs; integers are tokens."""

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"input_ids": (1, 24)})


_PICTURE = {"pixel_values": (1, 3, 64, 64)}
_SOUND = {"input_values": (1, 16000)}
_VISION = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "image_size": 64,
    "patch_size": 16,
}
_CAUSAL = {**_TEXT, "num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0, "max_position_embeddings": 128}

NETWORKS: dict[str, Network] = {
    "albert": Network("AlbertModel", {**_TEXT, "embedding_size": 32}),
    "bert_tokens": Network("BertForTokenClassification", _TEXT),
    "roberta": Network("RobertaForSequenceClassification", _TEXT),
    "distilbert": Network(
        "DistilBertForMaskedLM", {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 100}
    ),
    "deberta_v2": Network("DebertaV2Model", {**_TEXT, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "electra": Network("ElectraForPreTraining", {**_TEXT, "embedding_size": 32}),
    "mpnet": Network("MPNetModel", _TEXT),
    "xlm_roberta": Network("XLMRobertaForQuestionAnswering", _TEXT),
    "camembert": Network("CamembertModel", _TEXT),
    "squeezebert": Network("SqueezeBertModel", {**_TEXT, "embedding_size": 64}),
    "convbert": Network("ConvBertModel", {**_TEXT, "embedding_size": 64}),
    "fnet": Network("FNetModel", _TEXT),
    "gpt2": Network(
        "GPT2LMHeadModel", {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "use_cache": False}
    ),
    "gpt_neox": Network("GPTNeoXForCausalLM", {**_TEXT, "use_cache": False}),
    "opt": Network(
        "OPTForCausalLM",
        {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "ffn_dim": 128,
            "vocab_size": 100,
            "word_embed_proj_dim": 64,
            "use_cache": False,
        },
    ),
    "llama": Network("LlamaForCausalLM", {**_CAUSAL, "use_cache": False}),
    "mistral": Network("MistralForCausalLM", {**_CAUSAL, "use_cache": False}),
    "qwen2": Network("Qwen2ForCausalLM", {**_CAUSAL, "use_cache": False}),
    "qwen3": Network("Qwen3ForCausalLM", {**_CAUSAL, "use_cache": False}),
    "gemma": Network("GemmaForCausalLM", {**_CAUSAL, "use_cache": False}),
    "phi3": Network("Phi3ForCausalLM", {**_CAUSAL, "use_cache": False}),
    "bloom": Network(
        "BloomForCausalLM", {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "use_cache": False}
    ),
    "t5_encoder": Network(
        "T5EncoderModel", {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 100}
    ),
    "modernbert": Network("ModernBertModel", {**_TEXT, "pad_token_id": 0}),
    "deit": Network("DeiTModel", _VISION, _PICTURE),
    "beit": Network("BeitModel", _VISION, _PICTURE),
    "dinov2": Network("Dinov2Model", {**_VISION, "patch_size": 8}, _PICTURE),
    "swin": Network(
        "SwinModel",
        {"image_size": 64, "patch_size": 4, "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
        _PICTURE,
    ),
    "convnext": Network("ConvNextModel", {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1]}, _PICTURE),
    "resnet": Network(
        "ResNetForImageClassification",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"},
        _PICTURE,
    ),
    "mobilenet_v1": Network("MobileNetV1Model", {"image_size": 64, "depth_multiplier": 0.25}, _PICTURE),
    "mobilevit": Network("MobileViTModel", {"image_size": 64}, _PICTURE),
    "segformer": Network(
        "SegformerForSemanticSegmentation",
        {"hidden_sizes": [8, 16, 24, 32], "decoder_hidden_size": 32, "num_attention_heads": [1, 2, 2, 4]},
        _PICTURE,
    ),
    "poolformer": Network("PoolFormerModel", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}, _PICTURE),
    "levit": Network(
        "LevitModel",
        {
            "image_size": 64,
            "hidden_sizes": [32, 48, 64],
            "num_attention_heads": [2, 3, 4],
            "depths": [1, 1, 1],
            "key_dim": [8, 8, 8],
        },
        _PICTURE,
    ),
    "clip_text": Network("CLIPTextModel", {**_TEXT, "max_position_embeddings": 32, "eos_token_id": 2}),
    "clip_vision": Network("CLIPVisionModel", _VISION, _PICTURE),
    "siglip_vision": Network("SiglipVisionModel", _VISION, _PICTURE),
    "dpt": Network(
        "DPTForDepthEstimation",
        {
            **_VISION,
            "image_size": 64,
            "is_hybrid": False,
            "backbone_out_indices": [0, 1, 1, 1],
            "neck_hidden_sizes": [8, 16, 24, 32],
            "fusion_hidden_size": 16,
            "readout_type": "project",
        },
        _PICTURE,
    ),
    "wav2vec2": Network(
        "Wav2Vec2ForCTC",
        {**_TEXT, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4},
        _SOUND,
    ),
    "hubert": Network(
        "HubertModel",
        {**_TEXT, "conv_dim": [32] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4},
        _SOUND,
    ),
    "audio_spectrogram": Network(
        "ASTModel", {**_TEXT, "max_length": 128, "num_mel_bins": 64}, {"input_values": (1, 128, 64)}
    ),
    "vits": Network(
        "VitsModel",
        {
            "hidden_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "ffn_dim": 64,
            "vocab_size": 40,
            "upsample_initial_channel": 32,
            "flow_size": 48,
            "spectrogram_bins": 65,
            "prior_encoder_num_flows": 2,
            "posterior_encoder_num_wavenet_layers": 2,
        },
    ),
    "time_series_mixer": Network(
        "PatchTSMixerModel",
        {"context_length": 64, "patch_length": 8, "num_input_channels": 3, "patch_stride": 8, "d_model": 16},
        {"past_values": (1, 64, 3)},
    ),
    "encodec": Network(
        "EncodecModel",
        {"num_filters": 8, "hidden_size": 32, "codebook_size": 64, "codebook_dim": 32},
        {"input_values": (1, 1, 6400)},
    ),
}


def exported(network: Network, dynamo: bool = True) -> bytes:
    """A network as torch's exporter writes it, or as the older one does, which traces it."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.manual_seed(0)
    kind = getattr(transformers, network.name)
    config = kind.config_class(**network.config)
    module = kind(config).eval()
    inputs = {
        key: torch.randint(2, 30, shape) if "ids" in key else torch.randn(shape)
        for key, shape in network.inputs.items()
    }

    class Tuples(torch.nn.Module):  # type: ignore[misc]
        """Its outputs in a tuple, without caches."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *values: Any) -> Any:
            found = self.module(**dict(zip(inputs, values, strict=True)), return_dict=True)
            return tuple(value for value in found.values() if isinstance(value, torch.Tensor))

    with torch.no_grad():
        if dynamo:
            program = torch.onnx.export(Tuples().eval(), tuple(inputs.values()), dynamo=True, verbose=False)
            return bytes(program.model_proto.SerializeToString())
        stream = io.BytesIO()
        axes = {key: {0: "batch", **({1: "length"} if "ids" in key else {})} for key in inputs}
        torch.onnx.export(
            Tuples().eval(),
            tuple(inputs.values()),
            stream,
            dynamo=False,
            input_names=list(inputs),
            dynamic_axes=axes,
            opset_version=17,
        )
        return stream.getvalue()
