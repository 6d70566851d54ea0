"""Whatever the text, the parser returns a model or a ParseError, and soon."""

from __future__ import annotations

import random
import re
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.errors import ParseError
from ingot.ir import Model
from ingot.ir.text import parse_model, parse_node
from ingot.ir.text.lexer import MOST_NESTED
from ir.text.constructs import TEXT


def nested(depth: int) -> str:
    return "x = Op <g = b () => () { " * depth + "x = Op ()" + " }> ()" * depth


def test_graphs_and_types_nest_to_a_limit() -> None:
    node = parse_node(nested(MOST_NESTED))
    for _ in range(MOST_NESTED):
        node = node.subgraphs[0].nodes[0]
    for text in (nested(MOST_NESTED + 1), nested(100_000), "x = Op <t = " + "seq(" * 100_000):
        with pytest.raises(ParseError, match=f"more than {MOST_NESTED} deep"):
            parse_node(text)


def test_a_stack_that_is_nearly_full_gives_a_parse_error() -> None:
    def at_depth(depth: int) -> None:
        if depth:
            at_depth(depth - 1)
        else:
            parse_node(nested(MOST_NESTED))

    def used() -> int:
        frame, count = sys._getframe(), 0
        while (above := frame.f_back) is not None:
            frame, count = above, count + 1
        return count

    with pytest.raises(ParseError, match="nested too deep"):
        at_depth(sys.getrecursionlimit() - used() - 200)


N = 30_000
LONG = {
    "nodes": "g () => () {" + "x = Op (y)\n" * N + "}",
    "values": f"g ({', '.join(f'float[n{i % 7}] x{i}' for i in range(N))}) => () {{}}",
    "initialisers": f"g () => () <{', '.join(f'float[1] x{i} = {{{i}}}' for i in range(N))}> {{}}",
    "elements": f"g () => () <float[{4 * N}] x = {{{', '.join(['0.1'] * 4 * N)}}}> {{}}",
    "elements with comments": f"g () => () <float[{N}] x = {{" + ", # one\n".join(["0.1"] * N) + "}> {}",
    "attributes": f"g () => () {{ x = Op <{', '.join(f'a{i} = {i}' for i in range(N))}> () }}",
    "operator sets": "<opset_import: [" + ", ".join(f'"d{i}": 1' for i in range(N)) + "]> g () => () {}",
    "functions": "g () => () {}" + "".join(f"f{i} () => () {{}}\n" for i in range(N // 3)),
    "empty names": "g () => () { x = Op (" + "," * 10 * N + ") }",
    "quotes": '"' * 10 * N,
    "escapes": '"' + "\\" * 10 * N,
    "comments": "#" * 10 * N,
    "lines": "\n" * 10 * N + "?",
    "digits": "g (float[" + "1" * 10 * N + "] x) => () {}",
    "fractions": "g () => () <float[1] x = {0." + "1" * 10 * N + "}> {}",
    "exponents": "g () => () <float[1] x = {1e" + "1" * 10 * N + "}> {}",
    "dots": "g () => () { x = a" + ".a" * 5 * N + " () }",
    "brackets": "g () => () { x = Op <a = " + "[" * 10 * N,
    "sizes": f"g (float[{', '.join(['n'] * 5 * N)}] x) => () {{}}",
    "an expression": 'g (float["' + "n+" * 5 * N + '1"] x) => () {}',
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_take_no_long_time(name: str) -> None:
    start = time.thread_time()
    found = outcome(LONG[name])
    assert time.thread_time() - start < 6
    assert isinstance(found, Model) or len(str(found)) < 1_000


def outcome(text: str) -> Model | ParseError:
    try:
        return parse_model(text)
    except ParseError as error:
        return error


def ends_well(text: str) -> None:
    """A text is read, and then its links are right, or it is refused with a place in it."""
    found = outcome(text)
    if isinstance(found, ParseError):
        assert 1 <= found.line <= text.count("\n") + 1
        assert str(found)
        return
    for graph in found.graphs():
        for node in graph:
            assert node.graph is graph
            assert all(value is None or (node, index) in value.uses for index, value in enumerate(node.inputs))
            assert all(value.producer is node for value in node.outputs)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    ends_well(text)
    ends_well("g () => () { " + text)


TOKENS = re.findall(r'"(?:[^"\\]|\\.)*"|\w+|=>|\s+|.', TEXT, re.DOTALL)
SPARE = [*TOKENS, "...", "undefined", "nan", "-inf", "1e999", "-", '"', "\\", "\0", "é", "#", "9" * 5000, "@", "{}"]


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4), st.booleans())
def test_a_model_with_mistakes_is_read_or_refused(rng: random.Random, mistakes: int, by_character: bool) -> None:
    tokens = list(TEXT) if by_character else list(TOKENS)
    for _ in range(mistakes):
        at = rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                del tokens[at]
            case 1:
                tokens[at] = rng.choice(SPARE)
            case 2:
                tokens.insert(at, rng.choice(SPARE))
            case 3:
                other = rng.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
    ends_well("".join(tokens))
