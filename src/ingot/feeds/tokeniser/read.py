"""Reading a `tokenizer.json`.

What such a file may say and is not known here is left to the package `tokenizers`, if it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ingot.dataclass import dataclass
from ingot.errors import InputError, UnsupportedError
from ingot.feeds.tokeniser.added import AddedTokens
from ingot.feeds.tokeniser.normalise import normaliser
from ingot.feeds.tokeniser.numbers import token_number
from ingot.feeds.tokeniser.split import splitter
from ingot.feeds.tokeniser.template import template
from ingot.feeds.tokeniser.tokeniser import Encoded, FileTokeniser, Tokeniser
from ingot.feeds.tokeniser.vocabularies import lookup, vocabulary


def read_tokeniser(content: bytes) -> Tokeniser:
    """The tokeniser in the content of a file; InputError if there is none, UnsupportedError if nobody here reads it."""
    try:
        node = json.loads(content)
    except (ValueError, RecursionError):
        raise InputError("this is no tokeniser: it is not JSON", hint="choose a file named tokenizer.json") from None
    if not isinstance(node, dict) or not isinstance(node.get("model"), dict):
        raise InputError("this JSON is no tokeniser: it has no 'model'", hint="choose a file named tokenizer.json")
    try:
        return _read(node)
    except UnsupportedError as error:
        return _foreign(content, error)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise InputError(f"the tokeniser is not well formed: {type(error).__name__} {error}") from None


def _read(node: Mapping[str, Any]) -> Tokeniser:
    normalise = normaliser(node.get("normalizer"))
    kind, look_up = lookup(node["model"])
    count = len(vocabulary(node["model"]))
    truncation = node.get("truncation") or {}
    if truncation.get("direction", "Right") != "Right":
        raise UnsupportedError("a tokeniser that cuts texts off on their left")
    return FileTokeniser(
        f"{kind}, {count:,} tokens",
        AddedTokens(node.get("added_tokens") or [], normalise),
        normalise,
        splitter(node.get("pre_tokenizer")),
        look_up,
        template(node.get("post_processor")),
        None if truncation.get("max_length") is None else token_number(truncation["max_length"]),
    )


@dataclass(frozen=True, slots=True)
class _Foreign:
    """A tokeniser of the package `tokenizers`."""

    kind: str
    tokenizer: Any

    def encode(self, text: str) -> Encoded:
        """The tokens of a text."""
        try:
            encoding = self.tokenizer.encode(text)
        except BaseException as error:
            raise _refused(error) from None
        return Encoded(tuple(encoding.ids), tuple(encoding.type_ids))


def _foreign(content: bytes, reason: UnsupportedError) -> Tokeniser:
    try:
        package = import_module("tokenizers")
    except ImportError:
        raise UnsupportedError(
            reason.message, hint="the package 'tokenizers' reads it: pip install tokenizers"
        ) from None
    try:
        tokenizer = package.Tokenizer.from_str(content.decode())
    except BaseException as error:
        raise _refused(error) from None
    tokenizer.no_padding()
    count = tokenizer.get_vocab_size()
    return _Foreign(f"{count:,} tokens, by the package 'tokenizers' ({reason.message})", tokenizer)


def _refused(error: BaseException) -> InputError:
    """What an error of the package is to the user: it raises kinds of its own, and where it fails, no Exception."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return InputError(f"the package 'tokenizers' refuses the file, or the text: {error}")
