"""Strings joined, cut, cleaned and counted."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import ingot
from ingot.errors import CheckError, InputError, ShapeError
from ingot.ops.text.concat import string_concat
from ingot.ops.text.distinct import numbered, of_each
from ingot.ops.text.normalize import string_normalizer
from ingot.ops.text.split import string_split
from ingot.ops.text.tf_idf import tf_idf_vectorizer
from ops.control.written import types


def text(*words: Any) -> Any:
    return np.array(words, object)


def test_strings_are_joined_with_broadcasting() -> None:
    joined = string_concat.evaluate(text(["a"], ["b"]), text("x", "", "ü"))
    assert joined.tolist() == [["ax", "a", "aü"], ["bx", "b", "bü"]]
    scalar = string_concat.evaluate(np.asarray("a", object), np.asarray("b", object))
    assert (scalar.shape, scalar.dtype, scalar.item()) == ((), object, "ab")
    with pytest.raises(ShapeError, match=r"\[2\] and \[3\]"):
        string_concat.evaluate(text("a", "b"), text("a", "b", "c"))


def test_strings_are_cut_and_rows_filled() -> None:
    pieces, counts = string_split.evaluate(text("a,b,,c", "", "x"), delimiter=",")
    assert pieces.tolist() == [["a", "b", "", "c"], ["", "", "", ""], ["x", "", "", ""]]
    assert counts.tolist() == [4, 1, 1]


def test_white_space_divides_where_there_is_no_delimiter() -> None:
    for delimiter in (None, ""):
        pieces, counts = string_split.evaluate(text("  a \t b ", ""), delimiter=delimiter)
        assert (pieces.tolist(), counts.tolist()) == ([["a", "b"], ["", ""]], [2, 0])
    assert string_split.evaluate(text("a b c"), maxsplit=1)[0].tolist() == [["a", "b c"]]
    assert string_split.evaluate(text("a b c"), maxsplit=2**62)[1].tolist() == [3]


def test_nothing_is_cut_into_nothing() -> None:
    pieces, counts = string_split.evaluate(np.empty((0, 2), object))
    assert (pieces.shape, counts.shape, counts.dtype) == ((0, 2, 0), (0, 2), np.int64)
    pieces, counts = string_split.evaluate(np.asarray("", object))
    assert (pieces.shape, counts.tolist()) == ((0,), 0)


def test_a_split_out_of_all_proportion_is_refused() -> None:
    with pytest.raises(InputError, match="too many"):
        string_split.evaluate(text(",".join("x" * 60_000), *["a"] * 60_000), delimiter=",")
    with pytest.raises(CheckError, match="maxsplit is -1"):
        string_split.evaluate(text("a"), maxsplit=-1)


def test_stop_words_go_in_any_case_unless_case_matters() -> None:
    words = text("Monday", "tuesday", "WEDNESDAY")
    stops = ["monday", "Wednesday"]
    assert string_normalizer.evaluate(words, stopwords=stops).tolist() == ["tuesday"]
    assert string_normalizer.evaluate(words, stopwords=stops, is_case_sensitive=1).tolist() == words.tolist()
    upper = string_normalizer.evaluate(words, case_change_action="UPPER", stopwords=["monday"], is_case_sensitive=1)
    assert upper.tolist() == ["MONDAY", "TUESDAY", "WEDNESDAY"]


def test_one_empty_string_is_left_of_nothing() -> None:
    assert string_normalizer.evaluate(text("a"), stopwords=["a"]).tolist() == [""]
    assert string_normalizer.evaluate(text(["a"]), stopwords=["a"]).tolist() == [[""]]
    assert string_normalizer.evaluate(np.empty(0, object)).tolist() == [""]


def test_a_matrix_of_words_is_not_normalised() -> None:
    with pytest.raises(ShapeError, match=r"\[C\] or \[1, C\]"):
        string_normalizer.evaluate(text(["a"], ["b"]))
    with pytest.raises(CheckError, match="TITLE"):
        string_normalizer.evaluate(text("a"), case_change_action="TITLE")


def counted(words: list[int], pool: list[tuple[int, ...]], least: int, most: int, skips: int) -> list[int]:
    found: Counter[tuple[int, ...]] = Counter()
    for size in range(least, most + 1):
        for stride in range(1, skips + 2 if size > 1 else 2):
            for start in range(len(words) - (size - 1) * stride):
                found[tuple(words[start + k * stride] for k in range(size))] += 1
    return [found[gram] if least <= len(gram) <= most else 0 for gram in pool]


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 9)])
@pytest.mark.parametrize("skips", [0, 1, 5, 2**60])
def test_n_grams_are_counted_as_by_hand(least: int, most: int, skips: int) -> None:
    rows = np.random.default_rng(3).integers(0, 4, (5, 9))
    pool: list[tuple[int, ...]] = [(0,), (3,), (1, 2), (0, 0), (7, 1), (1, 2, 3), (0, 1, 0)]
    result = tf_idf_vectorizer.evaluate(
        rows,
        min_gram_length=least,
        max_gram_length=most,
        max_skip_count=skips,
        mode="TF",
        ngram_counts=[0, 2, 8],
        ngram_indexes=[6, 5, 4, 3, 2, 1, 0],
        pool_int64s=[word for gram in pool for word in gram],
    )
    expected = [counted(row, pool, least, min(most, 3), min(skips, 9))[::-1] for row in rows.tolist()]
    assert result.dtype == np.float32
    assert result.tolist() == expected


def vectorised(x: Any, mode: str = "TF", **changes: Any) -> Any:
    given: dict[str, Any] = {
        "min_gram_length": 1,
        "max_gram_length": 1,
        "max_skip_count": 0,
        "mode": mode,
        "ngram_counts": [0],
        "ngram_indexes": [1, 0],
        "pool_strings": ["b", "a"],
        "weights": [0.5, 2.0],
    }
    return tf_idf_vectorizer.evaluate(x, **{**given, **changes})


def test_weights_belong_to_the_n_grams_of_the_pool() -> None:
    words = text("a", "b", "a", "c")
    assert vectorised(words).tolist() == [2, 1]
    assert vectorised(words, "IDF").tolist() == [2, 0.5]
    assert vectorised(words, "TFIDF").tolist() == [4, 0.5]
    assert vectorised(np.empty((2, 0), object)).tolist() == [[0, 0], [0, 0]]
    assert vectorised(np.empty(0, object)).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "X"}, "mode is 'X'"),
        ({"ngram_indexes": [0]}, "2 n-grams"),
        ({"ngram_indexes": [0, -1]}, "negative"),
        ({"ngram_counts": [0, 9]}, "do not divide"),
        ({"ngram_counts": [0, 1]}, "1 words of 2-grams"),
        ({"pool_int64s": [1, 2]}, "only one"),
        ({"pool_strings": ["a", "a"]}, "twice"),
        ({"weights": [1.0]}, "1 weights"),
        ({"min_gram_length": 0}, "n-grams of 0"),
    ],
)
def test_a_pool_that_contradicts_itself_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(CheckError, match=message):
        vectorised(text("a"), **changes)


def test_a_vector_out_of_all_proportion_is_refused() -> None:
    with pytest.raises(InputError, match="too many"):
        vectorised(text("a"), ngram_indexes=[2**60, 0])
    with pytest.raises(InputError, match="int64, the pool string"):
        vectorised(np.array([1]))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = StringConcat(x, x)", "string[1, N]"),
        ('y = RegexFullMatch<pattern="a">(x)', "bool[1, N]"),
        ("y = StringNormalizer(x)", "string[1, ?]"),
        ("y, z = StringSplit(x)", "string[1, N, ?]"),
        (
            "y = TfIdfVectorizer<min_gram_length=1, max_gram_length=1, max_skip_count=0, mode='TF', ngram_counts=[0], "
            "ngram_indexes=[0, 4], pool_strings=['a', 'b']>(x)".replace("'", '"'),
            "float32[1, 5]",
        ),
    ],
)
def test_types_are_known_beforehand(body: str, expected: str) -> None:
    assert types(f"g (string[1, N] x) => (y) {{ {body} }}") == [expected]


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("kind", ["int64", "string"])
@pytest.mark.parametrize("skipped", [0, 3])
def test_n_grams_are_counted_in_machine_code(mode: str, kind: str, skipped: int) -> None:
    pool = [2, 5, 3, 5, 4, 5, 6, 2, 2, 6, 6, 5]
    words = [f'"w{number}"' for number in pool] if kind == "string" else list(map(str, pool))
    attributes = f"""min_gram_length = 1, max_gram_length = 3, max_skip_count = {skipped}, mode = "{mode}",
        ngram_counts = [0, 3, 9], ngram_indexes = [0, 1, 3, 7, 5, 2, 4], weights = [1.0, 2.0, 3.0, 0.5, 0.25, 4.0, 8.0],
        pool_{"strings" if kind == "string" else "int64s"} = [{", ".join(words)}]"""
    header = '<ir_version: 10, opset_import: ["" : 21]>'
    model = ingot.parse_model(f"{header} g ({kind}[n, m] x) => (y) {{ y = TfIdfVectorizer <{attributes}> (x) }}")
    expected = ingot.Session(model, providers=("reference",))
    session = ingot.Session(model, providers=("cpu", "reference"), fallback=False)
    assert session.compiled is not None
    assert [call.node.op_type for call in session.compiled.program.calls.values()] == ["LabelEncoder"] * (
        kind == "string"
    )
    random = np.random.default_rng(1)
    for shape in ((3, 9), (1, 2), (2, 1), (0, 4), (2, 0)):
        x = random.integers(1, 8, shape)
        if kind == "string":
            x = np.array([f"w{number}" for number in x.reshape(-1)], object).reshape(shape)
        for _ in range(2):
            np.testing.assert_allclose(session(x), expected(x), rtol=1e-6)


@pytest.mark.parametrize("different", [1, 3, 200, 300, 5000])
@pytest.mark.parametrize("count", [5, 40, 3000, 5000])
def test_texts_are_found_among_the_different_ones(different: int, count: int) -> None:
    numbers = np.random.default_rng(0).integers(0, different, count)
    texts = [f"text {number}" for number in [*[0] * (count // 2), *numbers]]  # so that a sample has not all of them
    once, which = numbered(texts)
    if which is None:
        assert once is texts
    else:
        assert [once[number] for number in which] == texts
        assert len(set(once)) == len(once)
    lengths = of_each(len, np.array(texts, np.object_).reshape(1, -1), np.int64)
    assert lengths.tolist() == [list(map(len, texts))]
