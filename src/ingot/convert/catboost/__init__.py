"""From CatBoost: estimators, and the files they are saved to."""

from ingot.convert.catboost.converter import convert_catboost

__all__ = ["convert_catboost"]
