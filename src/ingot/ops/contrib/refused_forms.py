"""What is refused of operators that are defined here, though onnxruntime's CPU provider computes it."""

from __future__ import annotations

from ingot.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """Attributes or texts with which operators are refused, and one action to try."""

    operators: tuple[str, ...]
    form: str
    action: str


FORMS = (
    RefusedForm(
        ("Attention", "QAttention"),
        "`past_present_share_buffer`",
        "export the model with a past and a present of their own",
    ),
    RefusedForm(
        ("GroupQueryAttention",),
        "`sliding_window_cache`",
        "export the model with a cache of the whole sequence; `local_window_size` can stay",
    ),
    RefusedForm(("MoE", "QMoE"), "`use_sparse_mixer`", "set it to 0, if the model was not trained with it"),
    RefusedForm(("QMoE",), '`quant_type` other than "int"', "quantise to integers"),
    RefusedForm(("MatMulNBits",), "`weight_prepacked`", "take the model from before its weights were reordered"),
    RefusedForm(("RegexFullMatch", "Tokenizer"), r"`\C` in a pattern, a byte of a character", "write `.`"),
    RefusedForm(
        ("RegexFullMatch", "Tokenizer"),
        r"`\p{Greek}` and other scripts in a pattern",
        r"write the range of its letters: `[\x{370}-\x{3ff}]`",
    ),
)
