"""From scikit-learn: a fitted estimator becomes a model, each kind by one rule."""

from ingot.convert.sklearn.conversion import Conversion
from ingot.convert.sklearn.converter import convert_sklearn
from ingot.convert.sklearn.rule import register, rule

__all__ = ["Conversion", "convert_sklearn", "register", "rule"]
