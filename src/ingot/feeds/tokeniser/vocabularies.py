"""Words as token numbers: whole words, WordPiece, byte-pair encoding and unigram models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any, TypeAlias

from ingot.errors import InputError, UnsupportedError
from ingot.feeds.tokeniser.numbers import token_number

Lookup: TypeAlias = Callable[[str], list[int]]
"""The tokens of a word."""


def lookup(node: Mapping[str, Any]) -> tuple[str, Lookup]:
    """The kind of a vocabulary, and its function; UnsupportedError for one that is not known here."""
    match kind := _kind(node):
        case "WordLevel":
            return kind, _word_level(node)
        case "WordPiece":
            return kind, _word_piece(node)
        case "BPE":
            return kind, _pairs(node)
        case "Unigram":
            return kind, _unigram(node)
    raise UnsupportedError(f"a tokeniser with a model '{kind}'")


def vocabulary(node: Mapping[str, Any]) -> dict[str, int]:
    """The numbers of tokens; InputError if the file has none."""
    vocab = node.get("vocab")
    if isinstance(vocab, list):
        return {str(token): number for number, (token, _) in enumerate(vocab)}
    if not isinstance(vocab, dict):
        raise InputError("the tokeniser has no vocabulary")
    return {token: token_number(number) for token, number in vocab.items()}


def _kind(node: Mapping[str, Any]) -> str:
    if "type" in node:
        return str(node["type"])
    return "BPE" if "merges" in node else "Unigram" if isinstance(node.get("vocab"), list) else "WordPiece"


def _unknown(node: Mapping[str, Any], vocab: Mapping[str, int]) -> int | None:
    token = node.get("unk_token")
    return None if token is None else vocab.get(str(token))


def _word_level(node: Mapping[str, Any]) -> Lookup:
    vocab = vocabulary(node)
    unknown = _unknown(node, vocab)

    def look(word: str) -> list[int]:
        number = vocab.get(word, unknown)
        return [] if number is None else [number]

    return look


def _word_piece(node: Mapping[str, Any]) -> Lookup:
    vocab = vocabulary(node)
    unknown, prefix = _unknown(node, vocab), str(node.get("continuing_subword_prefix", "##"))
    most = int(node.get("max_input_chars_per_word", 100))
    longest = max(map(len, vocab), default=1)

    def look(word: str) -> list[int]:
        nothing = [] if unknown is None else [unknown]
        if len(word) > most:
            return nothing
        tokens: list[int] = []
        start = 0
        while start < len(word):
            for end in range(min(len(word), start + longest), start, -1):
                number = vocab.get((prefix if start else "") + word[start:end])
                if number is not None:
                    tokens.append(number)
                    start = end
                    break
            else:
                return nothing
        return tokens

    return look


def _pairs(node: Mapping[str, Any]) -> Lookup:
    if node.get("dropout"):
        raise UnsupportedError("a tokeniser with dropout, which draws at random")
    vocab = vocabulary(node)
    merges = [tuple(merge.split(" ", 1)) if isinstance(merge, str) else tuple(merge) for merge in node["merges"]]
    prefix, suffix = node.get("continuing_subword_prefix") or "", node.get("end_of_word_suffix") or ""
    ranks = {(str(pair[0]), str(pair[1])): rank for rank, pair in enumerate(merges)}
    unknown, fuses = _unknown(node, vocab), bool(node.get("fuse_unk"))
    falls_back = _bytes_of(vocab) if node.get("byte_fallback") else None

    def symbols(word: str) -> list[str]:
        parts = [char if place == 0 else prefix + char for place, char in enumerate(word)]
        return [*parts[:-1], parts[-1] + suffix]

    def look(word: str) -> list[int]:
        if node.get("ignore_merges") and word in vocab:
            return [vocab[word]]
        tokens: list[int] = []
        is_unknown = False
        for part in _merged(symbols(word), ranks, vocab, prefix):
            if part in vocab:
                tokens.append(vocab[part])
                is_unknown = False
            elif falls_back is not None and (numbers := falls_back(part)) is not None:
                tokens += numbers
                is_unknown = False
            elif unknown is not None and not (fuses and is_unknown):
                tokens.append(unknown)
                is_unknown = True
        return tokens

    return look


def _merged(parts: list[str], ranks: Mapping[tuple[str, str], int], vocab: Mapping[str, int], prefix: str) -> list[str]:
    """Join neighbours that are in the vocabulary, pair by pair, the earliest merge first.

    A text that is not split into words has thousands of parts: pairs wait in a heap, by their merge and place, and one
    whose parts have been joined with others meanwhile is left out.
    """
    joined: list[str | None] = [*parts]
    known = [part in vocab for part in parts]
    after, before = list(range(1, len(parts) + 1)), list(range(-1, len(parts) - 1))
    heap: list[tuple[int, int, str, str]] = []

    def offer(left: int, right: int) -> None:
        one, other = (joined[place] if 0 <= place < len(joined) and known[place] else None for place in (left, right))
        if one is not None and other is not None and (rank := ranks.get((one, other))) is not None:
            heappush(heap, (rank, left, one, other))

    for place in range(len(parts) - 1):
        offer(place, place + 1)
    while heap:
        _, place, one, other = heappop(heap)
        right = after[place]
        if joined[place] != one or right >= len(joined) or joined[right] != other:
            continue
        joined[place], joined[right], known[place] = one + other.removeprefix(prefix), None, True
        after[place] = after[right]
        if after[place] < len(joined):
            before[after[place]] = place
        offer(before[place], place)
        offer(place, after[place])
    return [part for part in joined if part is not None]


def _unigram(node: Mapping[str, Any]) -> Lookup:
    scores = {str(token): (float(score), number) for number, (token, score) in enumerate(node["vocab"])}
    vocab = {token: number for token, (_, number) in scores.items()}
    unknown = None if node.get("unk_id") is None else token_number(node["unk_id"])
    worst = min((score for score, _ in scores.values()), default=0.0) - 10.0
    longest = max(map(len, scores), default=1)
    falls_back = _bytes_of(vocab) if node.get("byte_fallback") else None

    def look(word: str) -> list[int]:
        best: list[tuple[float, int, int | None]] = [(0.0, 0, None)]
        for end in range(1, len(word) + 1):
            candidates: list[tuple[float, int, int | None]] = []
            for start in range(max(0, end - longest), end):
                scored = scores.get(word[start:end])
                if scored is not None:
                    candidates.append((best[start][0] + scored[0], start, scored[1]))
            if word[end - 1] not in scores:
                candidates.append((best[end - 1][0] + worst, end - 1, None))
            best.append(max(candidates, key=lambda candidate: candidate[0]))
        return _path(word, best, unknown, falls_back)

    return look


def _path(
    word: str,
    best: list[tuple[float, int, int | None]],
    unknown: int | None,
    falls_back: Callable[[str], list[int] | None] | None,
) -> list[int]:
    """The tokens along the best way through a word; characters that are not known in a row are one."""
    pieces: list[tuple[str, int | None]] = []
    end = len(word)
    while end:
        _, start, number = best[end]
        if number is None and pieces and pieces[-1][1] is None:
            pieces[-1] = (word[start:end] + pieces[-1][0], None)
        else:
            pieces.append((word[start:end], number))
        end = start
    tokens: list[int] = []
    for piece, number in reversed(pieces):
        if number is not None:
            tokens.append(number)
        elif falls_back is not None and (numbers := falls_back(piece)) is not None:
            tokens += numbers
        elif unknown is not None:
            tokens.append(unknown)
    return tokens


def _bytes_of(vocab: Mapping[str, int]) -> Callable[[str], list[int] | None]:
    numbers = [vocab.get(f"<0x{byte:02X}>") for byte in range(256)]

    def spelled(text: str) -> list[int] | None:
        spelling = [numbers[byte] for byte in text.encode("utf-8", "replace")]
        known = [number for number in spelling if number is not None]
        return known if len(known) == len(spelling) else None

    return spelled
