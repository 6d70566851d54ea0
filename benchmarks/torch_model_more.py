"""More architectures of transformers, beyond those of the first table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as tf

from benchmarks.torch_model_cases import DECODER, SIZES, TEXT, WORDS, Case, image, seen, text, words

MORE: dict[str, Callable[[], Case]] = {}
SOUND: dict[str, Any] = {
    **WORDS, "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3),
    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2,
}  # fmt: skip


def more(build: Callable[[], Case]) -> Callable[[], Case]:
    def seeded() -> Case:
        torch.manual_seed(0)
        return build()

    MORE[build.__name__] = seeded
    return seeded


def both_ways(module: Any) -> Case:
    """A model with an encoder and a decoder, each of a length of its own."""
    case = text(module, decoder_input_ids=words(2, 5), use_cache=False)
    return Case(case.module, case.inputs, {**case.axes, "decoder_input_ids": {0: "batch", 1: "target"}})


@more
def albert() -> Case:
    return text(tf.AlbertModel(tf.AlbertConfig(**WORDS, embedding_size=16, max_position_embeddings=64)))


@more
def electra() -> Case:
    return text(tf.ElectraModel(tf.ElectraConfig(**WORDS, embedding_size=16, max_position_embeddings=64)))


@more
def deberta_v2() -> Case:
    return text(
        tf.DebertaV2Model(
            tf.DebertaV2Config(
                **WORDS,
                max_position_embeddings=64,
                relative_attention=True,
                pos_att_type=["p2c", "c2p"],
                position_buckets=8,
            )
        )
    )


@more
def xlm_roberta() -> Case:
    return text(tf.XLMRobertaModel(tf.XLMRobertaConfig(**WORDS, max_position_embeddings=64)))


@more
def mpnet() -> Case:
    return text(tf.MPNetModel(tf.MPNetConfig(**WORDS, max_position_embeddings=64)))


@more
def opt() -> Case:
    return text(
        tf.OPTForCausalLM(
            tf.OPTConfig(
                vocab_size=99,
                hidden_size=32,
                num_hidden_layers=2,
                ffn_dim=64,
                num_attention_heads=4,
                max_position_embeddings=64,
                pad_token_id=1,
                word_embed_proj_dim=32,
            )
        ),
        use_cache=False,
    )


@more
def phi() -> Case:
    return text(tf.PhiForCausalLM(tf.PhiConfig(**DECODER)), use_cache=False)


@more
def phi3() -> Case:
    return text(tf.Phi3ForCausalLM(tf.Phi3Config(**DECODER)), use_cache=False)


@more
def falcon() -> Case:
    return text(tf.FalconForCausalLM(tf.FalconConfig(**WORDS, num_kv_heads=2)), use_cache=False)


@more
def bloom() -> Case:
    return text(
        tf.BloomForCausalLM(tf.BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4)), use_cache=False
    )


@more
def mpt() -> Case:
    return text(
        tf.MptForCausalLM(tf.MptConfig(d_model=32, n_heads=4, n_layers=2, vocab_size=99, max_seq_len=64)),
        use_cache=False,
    )


@more
def gpt_neox() -> Case:
    return text(tf.GPTNeoXForCausalLM(tf.GPTNeoXConfig(**WORDS, max_position_embeddings=64)), use_cache=False)


@more
def gptj() -> Case:
    return text(
        tf.GPTJForCausalLM(tf.GPTJConfig(n_embd=32, n_layer=2, n_head=4, vocab_size=99, n_positions=64, rotary_dim=4)),
        use_cache=False,
    )


@more
def bart() -> Case:
    return both_ways(
        tf.BartForConditionalGeneration(
            tf.BartConfig(
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                vocab_size=99,
                max_position_embeddings=64,
            )
        )
    )


@more
def marian() -> Case:
    return both_ways(
        tf.MarianMTModel(
            tf.MarianConfig(
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                encoder_ffn_dim=64,
                decoder_ffn_dim=64,
                vocab_size=99,
                max_position_embeddings=64,
                pad_token_id=0,
                decoder_start_token_id=0,
            )
        )
    )


@more
def qwen3() -> Case:
    return text(tf.Qwen3ForCausalLM(tf.Qwen3Config(**DECODER, head_dim=8)), use_cache=False)


@more
def gemma2() -> Case:
    return text(
        tf.Gemma2ForCausalLM(tf.Gemma2Config(**DECODER, head_dim=8, sliding_window=4, query_pre_attn_scalar=8)),
        use_cache=False,
    )


@more
def gemma3() -> Case:
    return text(
        tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(**DECODER, head_dim=8, sliding_window=4, query_pre_attn_scalar=8)),
        use_cache=False,
    )


@more
def olmo() -> Case:
    return text(tf.OlmoForCausalLM(tf.OlmoConfig(**DECODER)), use_cache=False)


@more
def olmo2() -> Case:
    return text(tf.Olmo2ForCausalLM(tf.Olmo2Config(**DECODER)), use_cache=False)


@more
def stablelm() -> Case:
    return text(tf.StableLmForCausalLM(tf.StableLmConfig(**DECODER)), use_cache=False)


@more
def starcoder2() -> Case:
    return text(tf.Starcoder2ForCausalLM(tf.Starcoder2Config(**DECODER)), use_cache=False)


@more
def mixtral() -> Case:
    return text(
        tf.MixtralForCausalLM(tf.MixtralConfig(**DECODER, num_local_experts=4, num_experts_per_tok=2)), use_cache=False
    )


@more
def qwen2_moe() -> Case:
    return text(
        tf.Qwen2MoeForCausalLM(
            tf.Qwen2MoeConfig(
                **DECODER,
                num_experts=4,
                num_experts_per_tok=2,
                moe_intermediate_size=32,
                shared_expert_intermediate_size=32,
            )
        ),
        use_cache=False,
    )


@more
def deepseek_v3() -> Case:
    return text(
        tf.DeepseekV3ForCausalLM(
            tf.DeepseekV3Config(
                **{**DECODER, "num_key_value_heads": 4},
                moe_intermediate_size=32,
                n_routed_experts=4,
                n_group=2,
                topk_group=1,
                num_experts_per_tok=2,
                n_shared_experts=1,
                first_k_dense_replace=1,
                q_lora_rank=16,
                kv_lora_rank=16,
                qk_rope_head_dim=4,
                qk_nope_head_dim=8,
                v_head_dim=8,
            )
        ),
        use_cache=False,
    )


@more
def mamba2() -> Case:
    return Case(
        tf.Mamba2ForCausalLM(
            tf.Mamba2Config(
                hidden_size=32,
                num_hidden_layers=2,
                vocab_size=99,
                state_size=8,
                num_heads=4,
                head_dim=16,
                n_groups=1,
                chunk_size=4,
            )
        ).eval(),
        {"input_ids": words(), "use_cache": False},
        {"input_ids": {0: "batch"}},
    )


@more
def fnet() -> Case:
    return Case(
        tf.FNetModel(
            tf.FNetConfig(
                vocab_size=99, hidden_size=32, num_hidden_layers=2, intermediate_size=64, max_position_embeddings=64
            )
        ).eval(),
        {"input_ids": words()},
        {"input_ids": TEXT},
    )


@more
def rwkv() -> Case:
    return Case(
        tf.RwkvForCausalLM(
            tf.RwkvConfig(
                vocab_size=99, hidden_size=32, num_hidden_layers=2, attention_hidden_size=32, intermediate_size=64
            )
        ).eval(),
        {"input_ids": words(), "use_cache": False},
        {"input_ids": {0: "batch"}},
    )


@more
def dinov2() -> Case:
    return image(tf.Dinov2Model(tf.Dinov2Config(**SIZES, image_size=32, patch_size=8)))


@more
def beit() -> Case:
    return image(tf.BeitModel(tf.BeitConfig(**SIZES, image_size=32, patch_size=8, use_relative_position_bias=True)))


@more
def deit() -> Case:
    return image(tf.DeiTModel(tf.DeiTConfig(**SIZES, image_size=32, patch_size=8)))


@more
def convnextv2() -> Case:
    return image(tf.ConvNextV2Model(tf.ConvNextV2Config(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1])), 64)


@more
def regnet() -> Case:
    return image(
        tf.RegNetModel(
            tf.RegNetConfig(embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], groups_width=8)
        ),
        64,
    )


@more
def mobilevit() -> Case:
    return image(
        tf.MobileViTModel(
            tf.MobileViTConfig(
                image_size=64,
                patch_size=2,
                hidden_sizes=[16, 24, 32],
                neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32],
                num_attention_heads=2,
            )
        ),
        64,
    )


@more
def pvt() -> Case:
    return image(
        tf.PvtModel(
            tf.PvtConfig(
                image_size=64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4]
            )
        ),
        64,
    )


@more
def poolformer() -> Case:
    return image(tf.PoolFormerModel(tf.PoolFormerConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])), 64)


@more
def dpt() -> Case:
    return image(
        tf.DPTForDepthEstimation(
            tf.DPTConfig(
                **{**SIZES, "num_hidden_layers": 4},
                image_size=32,
                patch_size=8,
                backbone_out_indices=[0, 1, 2, 3],
                neck_hidden_sizes=[8, 8, 16, 16],
                fusion_hidden_size=16,
                is_hybrid=False,
                readout_type="project",
                reassemble_factors=[4, 2, 1, 0.5],
            )
        )
    )


@more
def detr() -> Case:
    c = tf.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=tf.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], out_features=["stage4"]
        ),
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=6,
    )
    return image(tf.DetrForObjectDetection(c), 64)


@more
def sam() -> Case:
    c = tf.SamConfig(
        vision_config=tf.SamVisionConfig(
            hidden_size=32,
            output_channels=16,
            num_hidden_layers=2,
            num_attention_heads=4,
            image_size=32,
            patch_size=4,
            window_size=4,
            num_pos_feats=8,
            mlp_dim=64,
            global_attn_indexes=[1],
        ),
        prompt_encoder_config=tf.SamPromptEncoderConfig(
            hidden_size=16, image_size=32, patch_size=4, mask_input_channels=4
        ),
        mask_decoder_config=tf.SamMaskDecoderConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, mlp_dim=32, iou_head_hidden_dim=16
        ),
    )
    return Case(
        tf.SamModel(c).eval(),
        {"pixel_values": torch.randn(2, 3, 32, 32), "input_points": torch.rand(2, 1, 2, 2) * 32},
        {"pixel_values": {0: "batch"}, "input_points": {0: "batch"}},
    )


@more
def blip() -> Case:
    c = tf.BlipConfig(
        text_config={**WORDS, "encoder_hidden_size": 32, "projection_dim": 16, "max_position_embeddings": 32},
        vision_config={**SIZES, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    return Case(
        tf.BlipForImageTextRetrieval(c).eval(),
        {"input_ids": words(2), "pixel_values": torch.randn(2, 3, 32, 32), "attention_mask": seen(2)},
        {"input_ids": TEXT, "attention_mask": TEXT, "pixel_values": {0: "batch"}},
    )


@more
def siglip() -> Case:
    c = tf.SiglipConfig(
        text_config={**WORDS, "max_position_embeddings": 7, "projection_size": 32},
        vision_config={**SIZES, "image_size": 32, "patch_size": 8},
    )
    return Case(
        tf.SiglipModel(c).eval(),
        {"input_ids": words(3), "pixel_values": torch.randn(2, 3, 32, 32)},
        {"input_ids": {0: "texts"}, "pixel_values": {0: "images"}},
    )


@more
def hubert() -> Case:
    return Case(
        tf.HubertModel(tf.HubertConfig(**SOUND)).eval(),
        {"input_values": torch.randn(2, 400)},
        {"input_values": {0: "batch", 1: "samples"}},
    )


@more
def wavlm() -> Case:
    return Case(
        tf.WavLMModel(tf.WavLMConfig(**SOUND, num_buckets=8, max_bucket_distance=16)).eval(),
        {"input_values": torch.randn(2, 400)},
        {"input_values": {0: "batch", 1: "samples"}},
    )


@more
def ast() -> Case:
    return Case(
        tf.ASTModel(
            tf.ASTConfig(**SIZES, max_length=32, num_mel_bins=16, patch_size=8, frequency_stride=8, time_stride=8)
        ).eval(),
        {"input_values": torch.randn(2, 32, 16)},
        {"input_values": {0: "batch"}},
    )
