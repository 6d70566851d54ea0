"""From LightGBM: estimators, boosters, and the files they are saved to."""

from ingot.convert.lightgbm.converter import convert_lightgbm

__all__ = ["convert_lightgbm"]
