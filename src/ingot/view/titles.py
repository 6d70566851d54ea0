"""What a group without a name is called: after the architecture that its operators are known from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

RESIDUAL = "Add of two branches"
"""What a sum of two computed values is counted as."""

_PRODUCTS = ("MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "MatMulNBits", "FusedMatMul", "DynamicQuantizeMatMul")
_CONVOLUTIONS = ("Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "FusedConv", "NhwcConv")
_ATTENTION = ("Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention", "LinearAttention")
_RECURRENT = ("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
_TREES = ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")
_ENCODERS = ("LabelEncoder", "OneHotEncoder", "CategoryMapper")
_IMPUTERS = ("Imputer",)
_LOGIC = frozenset(
    ("And", "Or", "Not", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Where", "Trilu")
)
_SHAPES = _LOGIC | frozenset(
    (
        *("Shape", "Gather", "GatherND", "Concat", "Unsqueeze", "Squeeze", "Cast", "Slice", "ConstantOfShape", "Range"),
        *("Expand", "Reshape", "Size", "Max", "Mul", "Sub", "Add", "Div", "CumSum", "Transpose", "Tile", "Identity"),
    )
)
_MOST_NAMES = 3


def title_of(operators: Counter[str], scopes: Sequence[str] = ()) -> str:
    """A title for nodes of these operators; `scopes` are the names of modules directly among them."""
    if scopes:
        shown = list(dict.fromkeys(scopes))
        return ", ".join(shown[:_MOST_NAMES]) + (" …" if len(shown) > _MOST_NAMES else "")
    products, convolutions = _count(operators, _PRODUCTS), _count(operators, _CONVOLUTIONS)
    attends = bool(_count(operators, _ATTENTION)) or (operators["Softmax"] > 0 and products >= 2)
    if attends:
        return "transformer layer" if products - 2 * operators["Softmax"] >= 4 else "attention"
    if _count(operators, _RECURRENT):
        return "recurrent layer"
    if _count(operators, _TREES):
        return "decision trees"
    if convolutions:
        return (
            "residual block"
            if operators[RESIDUAL] and convolutions >= 2
            else "convolutions"
            if convolutions > 1
            else "convolution"
        )
    if products:
        return "dense layers" if products > 1 else "dense layer"
    if _count(operators, _ENCODERS):
        return "categories"
    if _count(operators, _IMPUTERS) or (operators["IsNaN"] and operators["Where"]):
        return "imputation"
    if set(operators) <= _SHAPES and operators["Shape"] + operators["Range"]:
        return "mask" if _LOGIC & set(operators) else "sizes"
    names = [name.removesuffix(" of two branches") for name, _ in operators.most_common(_MOST_NAMES)]
    return ", ".join(names) + (" …" if len(operators) > _MOST_NAMES else "")


def _count(operators: Counter[str], names: Sequence[str]) -> int:
    return sum(operators[name] for name in names)
