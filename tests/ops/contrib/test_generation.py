"""Searches for sequences of tokens against onnxruntime, with decoders of a few nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

from ingot.errors import CheckError, InputError, UnsupportedError
from ops.contrib.peer import on_ingot, on_onnxruntime, same

VOCABULARY, SIZE = 11, 4
EOS, PAD = 2, 0
RNG = np.random.default_rng(19)
HELD = {
    "words": RNG.standard_normal((VOCABULARY, SIZE)).astype(np.float32),
    "places": (RNG.standard_normal((40, SIZE)) / 2).astype(np.float32),
    "out": RNG.standard_normal((SIZE, VOCABULARY)).astype(np.float32) * 2,
    "axes0": np.array([0, 2], np.int64),
    "axes1": np.array([0, 2, 4], np.int64),
    "axes2": np.array([0, 2, 3], np.int64),
    "axes3": np.array([1], np.int64),
    "across": np.array([1, 2], np.int64),
    "maxes": np.array([1, 3], np.int64),
    "last": np.array([-1], np.int64),
    "end": np.array([2**31], np.int64),
    "shrink": np.array(0.3, np.float32),
}


def value(name: str, kind: int, *shape: Any) -> Any:
    return helper.make_tensor_value_info(name, kind, list(shape))


def graph(name: str, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> GraphProto:
    used = {i for node in nodes for i in node.input}
    held = [numpy_helper.from_array(array, key) for key, array in HELD.items() if key in used]
    return helper.make_graph(nodes, name, inputs, outputs, held)


def n(op_type: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(op_type, inputs.split(), output.split(), **attributes)


def decoder() -> GraphProto:
    """Embeddings of words and places, and what is left of the sum of all before, as logits."""
    nodes = [
        n("Gather", "words input_ids", "w"),
        n("Gather", "places position_ids", "p"),
        n("Add", "w p", "e"),
        n("Unsqueeze", "e axes0", "new"),
        n("Concat", "new new", "both", axis=0),
        n("Concat", "past_0 both", "present_0", axis=3),
        n("Cast", "attention_mask", "m", to=TensorProto.FLOAT),
        n("Unsqueeze", "m axes1", "shown"),
        n("Mul", "present_0 shown", "seen"),
        n("ReduceSum", "seen axes2", "sum", keepdims=0),
        n("Unsqueeze", "sum axes3", "context"),
        n("Mul", "context shrink", "less"),
        n("Add", "e less", "h"),
        n("Tanh", "h", "t"),
        n("MatMul", "t out", "logits"),
    ]
    inputs = [value(name, TensorProto.INT32, "B", "S") for name in ("input_ids", "position_ids")]
    inputs += [
        value("attention_mask", TensorProto.INT32, "B", "T"),
        value("past_0", TensorProto.FLOAT, 2, "B", 1, "P", SIZE),
    ]
    outputs = [value("logits", TensorProto.FLOAT, "B", "S", VOCABULARY)]
    return graph("decoder", nodes, inputs, [*outputs, value("present_0", TensorProto.FLOAT, 2, "B", 1, "T", SIZE)])


def encoder(older: bool) -> GraphProto:
    """Keys and values of the words; in the older form the first step of the decoder, too."""
    nodes = [
        n("Gather", "words encoder_input_ids", "w"),
        n("Unsqueeze", "w axes3", "present_key_cross_0"),
        n("Tanh", "present_key_cross_0", "present_value_cross_0"),
    ]
    inputs = [value(name, TensorProto.INT32, "B", "E") for name in ("encoder_input_ids", "encoder_attention_mask")]
    names = ("present_key_cross_0", "present_value_cross_0")
    outputs = [value(name, TensorProto.FLOAT, "B", 1, "E", SIZE) for name in names]
    if older:
        nodes += [
            n("Gather", "words decoder_input_ids", "v"),
            n("Unsqueeze", "v axes3", "present_key_self_0"),
            n("Identity", "present_key_self_0", "present_value_self_0"),
            n("MatMul", "v out", "logits"),
            n("Identity", "w", "encoder_hidden_states"),
        ]
        inputs.append(value("decoder_input_ids", TensorProto.INT32, "B", 1))
        front = [value("logits", TensorProto.FLOAT, "B", 1, VOCABULARY)]
        front.append(value("encoder_hidden_states", TensorProto.FLOAT, "B", "E", SIZE))
        front += [value(f"present_{kind}_self_0", TensorProto.FLOAT, "B", 1, 1, SIZE) for kind in ("key", "value")]
        outputs = front + outputs
    return graph("encoder", nodes, inputs, outputs)


def decoder_with_encoder(new: Any, masked: bool = True) -> GraphProto:
    """Reads the sum of all words so far and of the encoder's, of `new` tokens at a time."""
    shown = [
        n("Cast", "encoder_attention_mask", "m", to=TensorProto.FLOAT),
        n("Unsqueeze", "m maxes", "shown"),
        n("Mul", "past_value_cross_0 shown", "other"),
    ]
    nodes = [
        n("Gather", "words input_ids", "every"),
        n("Slice", "every last end axes3", "w"),
        n("Unsqueeze", "w axes3", "new"),
        n("Concat", "past_key_self_0 new", "present_key_self_0", axis=2),
        n("Concat", "past_value_self_0 new", "present_value_self_0", axis=2),
        *(shown if masked else [n("Identity", "past_value_cross_0", "other")]),
        n("ReduceSum", "other across", "others", keepdims=0),
        n("ReduceSum", "present_key_self_0 across", "own", keepdims=0),
        n("Add", "others own", "sum"),
        n("Unsqueeze", "sum axes3", "context"),
        n("Mul", "context shrink", "less"),
        n("Add", "w less", "h"),
        n("MatMul", "h out", "logits"),
    ]
    inputs = [value("input_ids", TensorProto.INT32, "B", new)]
    inputs += [value("encoder_attention_mask", TensorProto.INT32, "B", "E")] if masked else []
    inputs += [value(f"past_{kind}_self_0", TensorProto.FLOAT, "B", 1, "P", SIZE) for kind in ("key", "value")]
    inputs += [value(f"past_{kind}_cross_0", TensorProto.FLOAT, "B", 1, "E", SIZE) for kind in ("key", "value")]
    outputs = [value("logits", TensorProto.FLOAT, "B", 1, VOCABULARY)]
    outputs += [value(f"present_{kind}_self_0", TensorProto.FLOAT, "B", 1, "T", SIZE) for kind in ("key", "value")]
    return graph("decoder", nodes, inputs, outputs)


def listener() -> GraphProto:
    """An encoder of sounds (rows, features, frames), with the first step of a decoder."""
    nodes = [
        n("Transpose", "encoder_input_ids", "w", perm=[0, 2, 1]),
        n("Unsqueeze", "w axes3", "present_key_cross_0"),
        n("Tanh", "present_key_cross_0", "present_value_cross_0"),
        n("Gather", "words decoder_input_ids", "v"),
        n("Unsqueeze", "v axes3", "present_key_self_0"),
        n("Identity", "present_key_self_0", "present_value_self_0"),
        n("MatMul", "v out", "logits"),
        n("Identity", "w", "encoder_hidden_states"),
    ]
    inputs = [
        value("encoder_input_ids", TensorProto.FLOAT, "B", SIZE, "E"),
        value("decoder_input_ids", TensorProto.INT32, "B", "D"),
    ]
    outputs = [value("logits", TensorProto.FLOAT, "B", "D", VOCABULARY)]
    outputs.append(value("encoder_hidden_states", TensorProto.FLOAT, "B", "E", SIZE))
    outputs += [value(f"present_{kind}_self_0", TensorProto.FLOAT, "B", 1, "D", SIZE) for kind in ("key", "value")]
    outputs += [value(f"present_{kind}_cross_0", TensorProto.FLOAT, "B", 1, "E", SIZE) for kind in ("key", "value")]
    return graph("encoder", nodes, inputs, outputs)


def model(op_type: str, feeds: dict[str, Any], names: list[str], outputs: int, **attributes: Any) -> ModelProto:
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain="com.microsoft", **attributes)
    kinds = {np.dtype(np.int32): TensorProto.INT32, np.dtype(np.float32): TensorProto.FLOAT}
    inputs = [value(name, kinds[array.dtype], *array.shape) for name, array in feeds.items()]
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    whole = helper.make_graph([node], "g", inputs, results)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(whole, opset_imports=imports, ir_version=8)


def one(number: float, dtype: Any = np.int32) -> Any:
    return np.array([number], dtype)


WORDS = np.array([[PAD, PAD, 5, 7], [3, 4, 9, 1], [PAD, 6, 6, 8]], np.int32)


def both(op_type: str, feeds: dict[str, Any], names: list[str], outputs: int, **attributes: Any) -> list[Any]:
    """onnxruntime's results; the same from every provider."""
    made = model(op_type, feeds, names, outputs, eos_token_id=EOS, pad_token_id=PAD, **attributes)
    expected = on_onnxruntime(made, feeds)
    for results in on_ingot(made, feeds, compiled=False):
        same(results, expected, 1e-4, 1e-5)
    return expected


@pytest.mark.parametrize("extra", [{}, {"no_repeat_ngram_size": 2}, {"vocab_size": VOCABULARY}])
@pytest.mark.parametrize(("penalty", "masks"), [(None, True), (1.3, False)])
def test_the_likeliest_token_comes_next(extra: dict[str, Any], penalty: Any, masks: bool) -> None:
    feeds: dict[str, Any] = {"ids": WORDS, "most": one(12), "least": one(7)}
    names = ["ids", "most", "least", "", "", "", ""]
    if penalty:
        feeds["penalty"], names[3] = one(penalty, np.float32), "penalty"
    if masks:
        feeds |= {"vocab": np.ones(VOCABULARY, np.int32), "prefix": np.ones((3, VOCABULARY), np.int32)}
        feeds["vocab"][5] = feeds["prefix"][1, :4] = 0
        names[4:6] = ["vocab", "prefix"]
    while not names[-1]:
        names.pop()
    [y] = both("GreedySearch", feeds, names, 1, decoder=decoder(), **extra)
    assert y.shape == (3, 12)


def test_only_the_first_tokens_of_a_vocabulary_may_come() -> None:
    """onnxruntime misplaces the scores of all rows but the first then."""
    feeds = {"ids": WORDS, "most": one(12)}
    made = model(
        "GreedySearch", feeds, list(feeds), 1, eos_token_id=EOS, pad_token_id=PAD, decoder=decoder(), vocab_size=8
    )
    for [y] in on_ingot(made, feeds, compiled=False):
        assert y[:, 4:].max() < 8


def searched(ids: Any, beams: int, returned: int, outputs: int = 3, **attributes: Any) -> list[Any]:
    feeds = {"ids": ids, "most": one(12), "least": one(5), "beams": one(beams), "returned": one(returned)}
    feeds |= {"length": one(0.8, np.float32), "repetition": one(1.1, np.float32)}
    return both("BeamSearch", feeds, list(feeds), outputs, **attributes)


@pytest.mark.parametrize(
    ("beams", "returned", "early", "ngram"), [(1, 1, 0, 0), (3, 2, 0, 0), (3, 3, 1, 0), (4, 4, 1, 2), (4, 2, 0, 2)]
)
def test_the_likeliest_sequences_are_found(beams: int, returned: int, early: int, ngram: int) -> None:
    sequences, scores = searched(
        WORDS, beams, returned, 2, decoder=decoder(), early_stopping=early, no_repeat_ngram_size=ngram
    )
    assert sequences.shape == (3, returned, 12)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_of_tokens_as_likely_as_others_the_first_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HELD, "out", np.zeros((SIZE, VOCABULARY), np.float32))
    for beams in (1, 2, 5):
        searched(WORDS, beams, beams, 2, decoder=decoder())


@pytest.mark.parametrize(("beams", "new", "older"), [(1, 1, False), (3, "S", False), (3, 1, True), (1, "S", True)])
def test_a_decoder_may_read_what_an_encoder_has_read(beams: int, new: Any, older: bool) -> None:
    options: dict[str, Any] = {"model_type": 1, "decoder_start_token_id": 1}
    searched(WORDS, beams, beams, 2, encoder=encoder(older), decoder=decoder_with_encoder(new), **options)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize(("op_type", "times"), [("BeamSearch", 0), ("WhisperBeamSearch", 0), ("WhisperBeamSearch", 1)])
def test_sounds_are_searched(beams: int, times: int, op_type: str) -> None:
    feeds = {"sounds": RNG.standard_normal((2, SIZE, 5)).astype(np.float32), "most": one(14), "least": one(5)}
    feeds |= {"beams": one(beams), "returned": one(beams), "length": one(0.8, np.float32)}
    names = [*feeds, "", "", "", "", "start", *(["times"] if times else [])]
    feeds["start"] = np.array([[1], [1]], np.int32)
    options: dict[str, Any] = {"model_type": 2, "decoder_start_token_id": 1}
    if times:
        feeds["times"] = one(1)
        options |= {"beginning_timestamp_token_id": 7, "no_timestamps_token_id": 4, "translate_token_id": 5}
    both(op_type, feeds, names, 2, encoder=listener(), decoder=decoder_with_encoder(1, masked=False), **options)


def test_how_probable_it_is_that_nobody_speaks_is_given() -> None:
    """onnxruntime's CPU leaves the memory of that result as it was."""
    feeds = {"sounds": RNG.standard_normal((2, SIZE, 5)).astype(np.float32), "most": one(9), "least": one(0)}
    feeds |= {"beams": one(3), "returned": one(1), "length": one(1, np.float32)}
    feeds["start"] = np.array([[1], [3]], np.int32)
    names = ["sounds", "most", "least", "beams", "returned", "length", "", "", "", "", "start"]
    options: dict[str, Any] = {"encoder": listener(), "decoder": decoder_with_encoder(1, masked=False)}
    options |= {"decoder_start_token_id": 1, "eos_token_id": EOS, "pad_token_id": PAD}
    made = model("WhisperBeamSearch", feeds, names, 5, vocab_size=VOCABULARY, no_speech_token_id=6, **options)
    del made.graph.output[3]
    made.graph.node[0].output[3] = ""
    for _, _, steps, silent in on_ingot(made, feeds, compiled=False):
        assert silent.shape == (2,)
        np.testing.assert_allclose(silent, np.exp(steps[0, :, 0, 6]), rtol=1e-6)
        np.testing.assert_allclose(np.exp(steps[0, :, 0]).sum(axis=1), 1, rtol=1e-5)
    unknown = model("WhisperBeamSearch", feeds, names, 5, vocab_size=VOCABULARY, no_speech_token_id=11, **options)
    del unknown.graph.output[3]
    unknown.graph.node[0].output[3] = ""
    with pytest.raises(CheckError, match="no_speech_token_id is 11, there are 11 tokens"):
        on_ingot(unknown, feeds, compiled=False)


def test_the_scores_of_all_steps_are_given() -> None:
    _, _, scores = searched(WORDS[:1], 2, 1, decoder=decoder(), vocab_size=VOCABULARY)
    assert scores.shape == (8, 1, 2, VOCABULARY)


def test_tokens_are_drawn_from_the_likeliest() -> None:
    feeds = {"ids": WORDS, "most": one(30)}
    names = ["ids", "most"]

    def drawn(**attributes: Any) -> list[Any]:
        made = model("Sampling", feeds, names, 1, eos_token_id=EOS, pad_token_id=PAD, decoder=decoder(), **attributes)
        return [results[0] for results in on_ingot(made, feeds, compiled=False)]

    greedy = model("GreedySearch", feeds, names, 1, eos_token_id=EOS, pad_token_id=PAD, decoder=decoder())
    [likeliest] = on_ingot(greedy, feeds, compiled=False)[0]
    for custom in (0, 1):
        for y in drawn(top_p=1e-6, custom=custom, min_tokens_to_keep=1):
            np.testing.assert_array_equal(y, likeliest)
        y, again = drawn(top_p=0.95, custom=custom, min_tokens_to_keep=1)
        np.testing.assert_array_equal(y, again)
        assert (y != likeliest).any()
        assert y.min() >= 0
        assert y.max() < VOCABULARY


def test_what_cannot_be_searched_is_refused() -> None:
    def run(op_type: str, feeds: dict[str, Any], **attributes: Any) -> None:
        made = model(
            op_type, feeds, list(feeds), 1, eos_token_id=EOS, pad_token_id=PAD, decoder=decoder(), **attributes
        )
        on_ingot(made, feeds, compiled=False)

    with pytest.raises(UnsupportedError, match="model_type is 1"):
        run("GreedySearch", {"ids": WORDS, "most": one(9)}, model_type=1)
    with pytest.raises(InputError, match="max_length is 4, expected above 4"):
        run("GreedySearch", {"ids": WORDS, "most": one(4)})
    beams = {"ids": WORDS, "most": one(9), "least": one(0), "beams": one(2), "returned": one(3)}
    with pytest.raises(InputError, match="3 of 2 beams"):
        run("BeamSearch", beams)
    with pytest.raises(CheckError, match="model_type is 2, and there is no encoder"):
        run("BeamSearch", {**beams, "returned": one(1)}, model_type=2)
