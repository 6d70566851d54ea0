"""Layers that only do something in training: what goes in comes out."""

from __future__ import annotations

from typing import Any

from ingot.builder import Var
from ingot.convert.keras.conversion import Conversion, cast
from ingot.convert.keras.rule import rule


@rule("ActivityRegularization", "AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D")
@rule("BaseSpatialDropout", "SpatialDropout2D", "SpatialDropout3D")
def unchanged(c: Conversion, layer: Any, x: Any) -> Any:
    return x


@rule("AugMix", "CutMix", "MixUp", "RandAugment", "RandomBrightness", "RandomColorDegeneration", "RandomColorJitter")
@rule(
    "RandomContrast", "RandomElasticTransform", "RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale"
)
@rule("RandomHue", "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomRotation", "RandomSaturation")
@rule("RandomSharpness", "RandomShear", "RandomTranslation", "RandomZoom")
def images(c: Conversion, layer: Any, x: Var) -> Var:
    """Images that are changed at random in training; they come in the type that the layer computes in."""
    return cast(x, layer.compute_dtype)
