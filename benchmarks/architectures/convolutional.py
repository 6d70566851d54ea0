"""Networks of convolutions: classifiers of images, and a U-Net."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from itertools import pairwise
from typing import Any

from benchmarks.architectures.made import Made, of_images

SIDE = 224


def resnet18() -> Made:
    """He et al. 2015."""
    return _resnet("basic", [64, 128, 256, 512], [2, 2, 2, 2])


def resnet50() -> Made:
    """He et al. 2015, the stride in the 3×3."""
    return _resnet("bottleneck", [256, 512, 1024, 2048], [3, 4, 6, 3])


def _resnet(kind: str, widths: list[int], depths: list[int]) -> Made:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(layer_type=kind, hidden_sizes=widths, depths=depths, num_labels=1000)
    return of_images(ResNetForImageClassification(config), SIDE)


def mobilenet_v2() -> Made:
    """Sandler et al. 2018; padded as torch does it."""
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    config = MobileNetV2Config(num_labels=1000, tf_padding=False)
    return of_images(MobileNetV2ForImageClassification(config), SIDE, fades=True)


def efficientnet_b0() -> Made:
    """Tan and Le 2019, pooled over the whole image at the end: a window of 1280, as transformers has it, few read."""
    import torch
    from transformers import EfficientNetConfig, EfficientNetForImageClassification

    config = EfficientNetConfig(
        width_coefficient=1.0,
        depth_coefficient=1.0,
        image_size=SIDE,
        hidden_dim=1280,
        num_labels=1000,
        initializer_range=0.2,  # with less, normalisation has nothing to scale up but its epsilon
    )
    network = EfficientNetForImageClassification(config)
    network.efficientnet.pooler = torch.nn.AdaptiveAvgPool2d(1)
    return of_images(network, SIDE, fades=True)


def convnext_tiny() -> Made:
    """Liu et al. 2022."""
    from transformers import ConvNextConfig, ConvNextForImageClassification

    return of_images(ConvNextForImageClassification(ConvNextConfig(num_labels=1000)), SIDE)


def vgg16() -> Made:
    """Simonyan and Zisserman 2014, configuration D."""
    from torch import nn

    layers: list[Any] = []
    channels = 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for before, after in ((512 * 7 * 7, 4096), (4096, 4096)):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return of_images(nn.Sequential(*layers, nn.Linear(4096, 1000)), SIDE, name="input")


def unet() -> Made:
    """Ronneberger et al. 2015 with batch normalisation and 32 channels at the top, on images of 256."""
    import torch
    from torch import nn

    def block(before: int, after: int) -> Any:
        layers: list[Any] = []
        for channels in (before, after):
            layers += [nn.Conv2d(channels, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        return nn.Sequential(*layers)

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            widths = [32, 64, 128, 256, 512]
            pairs = list(pairwise(widths))
            self.first = block(3, widths[0])
            self.down = nn.ModuleList(block(a, b) for a, b in pairs)
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs))
            self.merge = nn.ModuleList(block(b, a) for a, b in reversed(pairs))
            self.last = nn.Conv2d(widths[0], 1, 1)

        def forward(self, x: Any) -> Any:
            kept = [self.first(x)]
            for down in self.down:
                kept.append(down(nn.functional.max_pool2d(kept[-1], 2)))
            x = kept.pop()
            for up, merge in zip(self.up, self.merge, strict=True):
                x = merge(torch.cat([up(x), kept.pop()], 1))
            return torch.sigmoid(self.last(x))

    return of_images(UNet(), 256, "mask", name="x")
