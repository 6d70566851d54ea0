"""A detector of objects: boxes, labels and scores from an image."""

# mypy: disable-error-code="import-not-found, import-untyped, misc"

from __future__ import annotations

from typing import Any

from benchmarks.architectures.made import Made, of_images

SIDE = 640


def rt_detr() -> Made:
    """Zhao et al. 2023 on a ResNet-18, followed by the choice of its 100 surest boxes."""
    import torch
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    backbone = RTDetrResNetConfig(
        layer_type="basic",
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        out_features=["stage2", "stage3", "stage4"],
    )
    config = RTDetrConfig(
        backbone_config=backbone,
        encoder_in_channels=[128, 256, 512],
        hidden_expansion=0.5,
        decoder_layers=3,
        num_labels=80,
        initializer_range=0.05,
    )

    class Detector(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = RTDetrForObjectDetection(config)

        def forward(self, pixel_values: Any) -> Any:
            found = self.model(pixel_values)
            scores, at = found.logits.sigmoid().flatten(1).topk(100)
            labels, row = at % config.num_labels, at // config.num_labels
            return found.pred_boxes.gather(1, row.unsqueeze(-1).expand(-1, -1, 4)), labels, scores

    return of_images(Detector(), SIDE, "boxes", "labels", "scores", fades=True)
