"""Tokens as the package `tokenizers` gives them, for the kinds of files that are read here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import InputError, UnsupportedError
from ingot.feeds.tokeniser.feeds import token_feeds
from ingot.feeds.tokeniser.read import read_tokeniser
from ingot.feeds.tokeniser.tokeniser import Encoded

TEXTS = [
    "Hello, world! It's 2026 and we'll see 3.14 of them.",
    "  leading spaces,\ttabs\nand   runs of   them  ",
    "Ärger mit Übermut: naïve café — “quotes” … 12½",
    "日本語のテキスト and 中文 mixed",
    "don't stop, can't stop; THE END [MASK] of it",
    "emoji 👩‍👩‍👧 and \u200bzero width, x²",
    "unaffable unbelievably antidisestablishmentarianism",
    "",
    " ",
]
CORPUS = [*TEXTS, "the quick brown fox jumps over the lazy dog", "low lower lowest new newer newest"] * 3


def trained(make: Callable[[Any], tuple[Any, Any]]) -> Any:
    """A tokeniser of the package, trained on a few lines."""
    package = pytest.importorskip("tokenizers", reason="tokens are compared with those of the package tokenizers")
    tokenizer, trainer = make(package)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def bert(package: Any) -> tuple[Any, Any]:
    tokenizer = package.Tokenizer(package.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = package.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = package.pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"]
    tokenizer.post_processor = package.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer, package.trainers.WordPieceTrainer(vocab_size=200, special_tokens=special)


def gpt2(package: Any) -> tuple[Any, Any]:
    tokenizer = package.Tokenizer(package.models.BPE())
    tokenizer.pre_tokenizer = package.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = package.pre_tokenizers.ByteLevel.alphabet()
    trainer = package.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"])
    return tokenizer, trainer


def llama3(package: Any) -> tuple[Any, Any]:
    tokenizer, trainer = gpt2(package)
    words = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+"
    )
    steps = [
        package.pre_tokenizers.Split(package.Regex(words), "isolated"),
        package.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    tokenizer.pre_tokenizer = package.pre_tokenizers.Sequence(steps)
    return tokenizer, trainer


def t5(package: Any) -> tuple[Any, Any]:
    tokenizer = package.Tokenizer(package.models.Unigram())
    tokenizer.normalizer = package.normalizers.Sequence(
        [package.normalizers.NFKC(), package.normalizers.Replace(package.Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = package.pre_tokenizers.Metaspace()
    trainer = package.trainers.UnigramTrainer(vocab_size=150, special_tokens=["<unk>", "</s>"], unk_token="<unk>")
    return tokenizer, trainer


def spaced(package: Any) -> tuple[Any, Any]:
    tokenizer = package.Tokenizer(package.models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = package.normalizers.Sequence(
        [package.normalizers.Prepend("▁"), package.normalizers.Replace(" ", "▁")]
    )
    steps = [package.pre_tokenizers.Digits(individual_digits=True), package.pre_tokenizers.Punctuation("isolated")]
    tokenizer.pre_tokenizer = package.pre_tokenizers.Sequence(steps)
    return tokenizer, package.trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"], limit_alphabet=30)


def words(package: Any) -> tuple[Any, Any]:
    tokenizer = package.Tokenizer(package.models.WordLevel(unk_token="<unk>"))
    tokenizer.pre_tokenizer = package.pre_tokenizers.Whitespace()
    return tokenizer, package.trainers.WordLevelTrainer(special_tokens=["<unk>", "[MASK]"], vocab_size=40)


def test_words_become_pieces() -> None:
    vocab = {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "!": 4, "[CLS]": 5, "[SEP]": 6}
    file = {
        "model": {"type": "WordPiece", "vocab": vocab, "unk_token": "[UNK]"},
        "normalizer": {"type": "BertNormalizer"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 5], "sep": ["[SEP]", 6]},
        "added_tokens": [{"content": "[CLS]", "id": 5}],
    }
    encoded = read_tokeniser(json.dumps(file).encode()).encode("Unaffable! x[CLS]")
    assert encoded.ids == (5, 1, 2, 3, 4, 0, 5, 6)


def test_pairs_are_joined_in_the_order_of_merges() -> None:
    vocab = {token: number for number, token in enumerate(["l", "o", "w", "e", "r", "lo", "low", "er", "Ġ", "Ġlow"])}
    file = {
        "model": {"type": "BPE", "vocab": vocab, "merges": ["l o", "lo w", "e r", ["Ġ", "low"]]},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
    }
    assert read_tokeniser(json.dumps(file).encode()).encode("lower low").ids == (6, 7, 9)


def test_a_text_that_is_not_split_is_joined_in_time() -> None:
    vocab = {token: number for number, token in enumerate(["a", "b", "ab", "abab", "c"])}
    node = {"model": {"type": "BPE", "vocab": vocab, "merges": ["a b", "ab ab"]}}
    begin = time.thread_time()
    encoded = read_tokeniser(json.dumps(node).encode()).encode("abababc" * 10_000)
    assert encoded.ids == (3, 2, 4) * 10_000
    assert time.thread_time() - begin < 20  # pair by pair, over all of the text, it took hours


def test_the_likeliest_pieces_are_chosen() -> None:
    vocab = [["<unk>", 0.0], ["▁a", -2.0], ["▁", -3.0], ["a", -3.0], ["b", -3.0], ["ab", -1.0], ["▁ab", -9.0]]
    file = {"model": {"type": "Unigram", "vocab": vocab, "unk_id": 0}, "pre_tokenizer": {"type": "Metaspace"}}
    assert read_tokeniser(json.dumps(file).encode()).encode("ab a?").ids == (2, 5, 1, 0)


@pytest.mark.parametrize("make", [bert, gpt2, llama3, t5, spaced, words])
def test_tokens_are_those_of_the_package(make: Callable[[Any], tuple[Any, Any]]) -> None:
    theirs = trained(make)
    ours = read_tokeniser(theirs.to_str().encode())
    assert "package" not in ours.kind
    for text in TEXTS:
        encoding = theirs.encode(text)
        assert ours.encode(text) == Encoded(tuple(encoding.ids), tuple(encoding.type_ids)), text


def test_a_tokeniser_cuts_a_text_off_where_its_file_says_so() -> None:
    theirs = trained(bert)
    theirs.enable_truncation(6)
    ours = read_tokeniser(theirs.to_str().encode())
    assert list(ours.encode(TEXTS[0]).ids) == theirs.encode(TEXTS[0]).ids
    assert len(ours.encode(TEXTS[0]).ids) == 6


def test_what_is_not_known_here_is_left_to_the_package_and_said() -> None:
    theirs = trained(bert)
    content = json.loads(theirs.to_str())
    content["normalizer"] = {"type": "Nmt"}
    ours = read_tokeniser(json.dumps(content).encode())
    assert "by the package 'tokenizers'" in ours.kind
    assert list(ours.encode("the dog").ids)


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    content = {"model": {"type": "WordLevel", "vocab": {"a": 0}}, "normalizer": {"type": "Nmt"}}
    with pytest.raises(UnsupportedError, match="normaliser 'Nmt'") as raised:
        read_tokeniser(json.dumps(content).encode())
    assert raised.value.hint == "the package 'tokenizers' reads it: pip install tokenizers"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"model": {}}', b'{"model": {"type": "BPE", "vocab": {}}}', b"[" * 100_000]
)
def test_a_file_that_is_no_tokeniser_is_refused(content: bytes) -> None:
    with pytest.raises(InputError):
        read_tokeniser(content)


def model(inputs: str) -> ingot.Model:
    return ingot.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> g ({inputs}) => (y) {{ y = Identity (input_ids) }}'
    )


def test_a_text_is_given_to_the_inputs_that_tokens_go_to() -> None:
    inputs = "int64[b, t] input_ids, int64[b, t] attention_mask, int32[b, t] token_type_ids, int64[t] position_ids"
    inputs += ", float[3] x"
    feeds = token_feeds(model(inputs).inputs, Encoded((5, 6, 7), (0, 0, 1)))
    assert {name: array.tolist() for name, array in feeds.items()} == {
        "input_ids": [[5, 6, 7]],
        "attention_mask": [[1, 1, 1]],
        "token_type_ids": [[0, 0, 1]],
        "position_ids": [0, 1, 2],
    }
    assert feeds["token_type_ids"].dtype == np.int32


def test_an_input_of_fixed_length_is_filled_up_and_refuses_more() -> None:
    inputs = model("int64[1, 4] input_ids, int64[1, 4] mask").inputs
    feeds = token_feeds(inputs, Encoded((5, 6), (0, 0)))
    assert feeds["mask"].tolist() == [[1, 1, 0, 0]]
    with pytest.raises(InputError, match="5 tokens"):
        token_feeds(inputs, Encoded((1,) * 5, (0,) * 5))


def test_a_model_without_an_input_for_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="no input"):
        token_feeds(model("float[b, 4] input_ids").inputs, Encoded((1,), (0,)))


TEMPLATE: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "s", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"s": {"ids": [1]}},
}


@pytest.mark.parametrize(
    "parts",
    [
        {"post_processor": {**TEMPLATE, "special_tokens": {}}},
        {"post_processor": {**TEMPLATE, "single": [{"Sequence": None}]}},
        {"post_processor": {**TEMPLATE, "special_tokens": {"s": {"ids": [1 << 70]}}}},
        {"post_processor": {"type": "BertProcessing", "cls": ["s", -1], "sep": ["s", 1]}},
        {"pre_tokenizer": {"type": "Metaspace", "replacement": ""}},
        {"truncation": {"max_length": "many"}},
        {"added_tokens": [{"id": 1 << 70, "content": "a"}]},
        {"model": {"type": "WordLevel", "vocab": {"a": 1 << 70}}},
        {"model": {"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": {}}},
    ],
)
def test_a_tokeniser_that_is_not_well_formed_is_refused_when_it_is_read(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="not well formed"):
        read_tokeniser(json.dumps({"model": {"type": "WordLevel", "vocab": {"a": 0}}, **parts}).encode())


@pytest.mark.parametrize("depth", [100, 300, 450, 800, 5000])
def test_steps_that_are_nested_deep_are_applied_or_refused(depth: int) -> None:
    steps = '{"type": "Sequence", "normalizers": [' * depth + "]}" * depth
    content = f'{{"model": {{"type": "WordLevel", "vocab": {{"a": 7}}}}, "normalizer": {steps}}}'
    try:
        assert read_tokeniser(content.encode()).encode("a").ids == (7,)
    except InputError:
        assert depth > 100


def test_classes_of_characters_inside_of_others_are_not_taken_for_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    splits = {"type": "Split", "pattern": {"Regex": "[a[bc]]"}, "behavior": "Isolated"}
    content = {"model": {"type": "WordLevel", "vocab": {"a": 0}}, "pre_tokenizer": splits}
    with pytest.raises(UnsupportedError, match="inside of another"):
        read_tokeniser(json.dumps(content).encode())


def test_a_token_that_an_input_cannot_hold_is_refused() -> None:
    inputs = model("int8[1, 4] input_ids").inputs
    with pytest.raises(InputError, match="token 300"):
        token_feeds(inputs, Encoded((300,), (0,)))
