"""A short run of the fuzzer over every target, and every input that ever went wrong."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

import pytest

from fuzz import targets
from fuzz.mutate import mutated, mutated_text, mutated_words

BATCHES = 10


@pytest.mark.parametrize("path", sorted(targets.CORPUS.iterdir()), ids=lambda path: path.name)
def test_every_file_of_the_corpus_ends_well(path: Path) -> None:
    end = targets.try_decode(path.read_bytes())
    assert end == "model" or path.stem.startswith("crash-")


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutated_models_end_in_a_model_or_an_error(batch: int) -> None:
    corpus = targets.corpus()
    ends = Counter(targets.try_decode(mutated(0, number, corpus)) for number in range(batch * 500, batch * 500 + 500))
    assert ends["refused"] > 100, "mutation does damage"
    assert ends["model"] > 25, "and not only damage that shows at once"


@pytest.mark.parametrize("batch", range(3))
def test_mutated_models_of_onnxruntime_end_in_a_model_or_an_error(batch: int) -> None:
    corpus = targets.ort_corpus()
    numbers = range(batch * 500, batch * 500 + 500)
    ends = Counter(targets.try_decode(mutated_words(0, number, corpus)) for number in numbers)
    assert not ends["refused without saying where"]
    assert ends["refused"] > 100, "mutation does damage"
    assert ends["model"] > 100, "and not only damage that shows at once"


def test_mutated_texts_end_in_a_model_or_an_error() -> None:
    texts = targets.texts()
    ends = Counter(targets.try_text(mutated_text(0, number, texts)) for number in range(300))
    assert ends["refused"] > 30
    assert ends["model"] > 15


def test_no_mix_of_external_entries_and_files_lets_a_byte_in_from_outside() -> None:
    with contextlib.contextmanager(targets.external_folder)() as folder:
        ends = Counter(targets.try_external(0, number, folder) for number in range(2000))
    assert ends["refused"] > 500
    assert ends["model"] > 10


def test_the_same_seed_gives_the_same_inputs() -> None:
    corpus = targets.corpus()
    assert [mutated(7, n, corpus) for n in range(50)] == [mutated(7, n, corpus) for n in range(50)]
    assert mutated(7, 1, corpus) != mutated(8, 1, corpus)


def test_the_corpus_stays_small() -> None:
    assert sum(path.stat().st_size for path in targets.CORPUS.iterdir()) < 300_000
