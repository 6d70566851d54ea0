"""Networks of packages that this project does not require, small and with random weights, exported by torch."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class PackageNetwork:
    """What a class or function of a module is called with, and the shapes of its inputs; `tokens` are integers.

    With `named`, the inputs have these names, and the module gives a tuple if it is asked for one.
    """

    module: str
    name: str
    config: Mapping[str, Any]
    inputs: tuple[tuple[int, ...], ...] = ((1, 3, 64, 64),)
    tokens: tuple[int, ...] = ()
    named: tuple[str, ...] = field(default=())

    @property
    def package(self) -> str:
        """What to install."""
        return self.module.partition(".")[0].replace("_", "-")


_PICTURE = {"image_size": 64, "patch_size": 16, "num_classes": 10, "dim": 64, "depth": 2, "heads": 4, "mlp_dim": 128}
_VOLUME = ((1, 1, 16, 16, 16),)
_STAGES = {"num_classes": 10, "dim_conv_stem": 16, "dim": 16, "dim_head": 8, "depth": (1, 1), "window_size": 4}
_NEST = {"image_size": 64, "patch_size": 4, "dim": 16, "heads": 2, "num_hierarchies": 3, "num_classes": 10}
_TWO_BLOCKS = {"block_out_channels": (32, 64), "norm_num_groups": 8}
_LATENT = {
    "num_attention_heads": 4,
    "attention_head_dim": 16,
    "in_channels": 4,
    "num_layers": 2,
    "sample_size": 16,
    "patch_size": 2,
}

PACKAGE_NETWORKS: dict[str, PackageNetwork] = {
    "vit": PackageNetwork("vit_pytorch.vit", "ViT", _PICTURE),
    "deepvit": PackageNetwork("vit_pytorch.deepvit", "DeepViT", _PICTURE),
    "small_dataset_vit": PackageNetwork("vit_pytorch.vit_for_small_dataset", "ViT", _PICTURE),
    "cait": PackageNetwork("vit_pytorch.cait", "CaiT", {**_PICTURE, "cls_depth": 1}),
    "max_vit": PackageNetwork("vit_pytorch.max_vit", "MaxViT", {**_STAGES, "mbconv_expansion_rate": 2}),
    "nest": PackageNetwork("vit_pytorch.nest", "NesT", {**_NEST, "block_repeats": (1, 1, 1)}),
    "unet_3d": PackageNetwork(
        "monai.networks.nets",
        "UNet",
        {
            "spatial_dims": 3,
            "in_channels": 1,
            "out_channels": 2,
            "channels": (8, 16, 32),
            "strides": (2, 2),
            "num_res_units": 2,
        },
        _VOLUME,
    ),
    "seg_res_net": PackageNetwork(
        "monai.networks.nets",
        "SegResNet",
        {"init_filters": 8, "in_channels": 1, "out_channels": 2, "blocks_down": (1, 1, 1), "blocks_up": (1, 1)},
        _VOLUME,
    ),
    "unetr": PackageNetwork(
        "monai.networks.nets",
        "UNETR",
        {
            "in_channels": 1,
            "out_channels": 2,
            "img_size": (32, 32, 32),
            "feature_size": 8,
            "hidden_size": 48,
            "mlp_dim": 96,
            "num_heads": 4,
        },
        ((1, 1, 32, 32, 32),),
    ),
    "diffusion_unet": PackageNetwork(
        "diffusers",
        "UNet2DModel",
        {
            **_TWO_BLOCKS,
            "sample_size": 32,
            "layers_per_block": 1,
            "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
            "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
        },
        ((1, 3, 32, 32), (1,)),
        (1,),
        ("sample", "timestep"),
    ),
    "dit": PackageNetwork(
        "diffusers",
        "DiTTransformer2DModel",
        {**_LATENT, "out_channels": 8, "num_embeds_ada_norm": 50, "norm_num_groups": 8},
        ((1, 4, 16, 16), (1,), (1,)),
        (1, 2),
        ("hidden_states", "timestep", "class_labels"),
    ),
}


def exported_from_package(network: PackageNetwork, dynamo: bool = True) -> bytes:
    """A network as torch's exporter writes it, or the older one; ImportError says what to install."""
    torch: Any = import_module("torch")
    try:
        module = import_module(network.module)
    except ImportError as error:
        raise ImportError(f"skipped, {error}: pip install {network.package} and what it needs") from None
    torch.manual_seed(0)
    inner = getattr(module, network.name)(**network.config).eval()
    inputs = tuple(
        torch.randint(2, 30, shape) if place in network.tokens else torch.randn(shape)
        for place, shape in enumerate(network.inputs)
    )

    class Outputs(torch.nn.Module):  # type: ignore[misc]
        """What it gives without names."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *values: Any) -> Any:
            if not network.named:
                return self.inner(*values)
            return self.inner(**dict(zip(network.named, values, strict=True)), return_dict=False)

    with torch.no_grad():
        if dynamo:
            program = torch.onnx.export(Outputs().eval(), inputs, dynamo=True, verbose=False)
            return bytes(program.model_proto.SerializeToString())
        stream = io.BytesIO()
        torch.onnx.export(Outputs().eval(), inputs, stream, dynamo=False, opset_version=17)
        return stream.getvalue()
