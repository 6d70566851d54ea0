"""From XGBoost: estimators, boosters, and the files they are saved to."""

from ingot.convert.xgboost.converter import convert_xgboost

__all__ = ["convert_xgboost"]
