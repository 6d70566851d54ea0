"""Running, comparing and measuring in the page, in a real browser."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingot import Model, encode
from ingot.runtime.interrupt import Cancel
from ingot.view.answers import Answers
from ingot.view.profiles import ProfilePage, profile
from ingot.view.saved import saved_page
from ingot.view.server import Server
from view.conftest import Open
from view.samples import layers, parsed
from view.test_page import click, panel, visible, wait_for
from view.test_runs import npy

pytestmark = pytest.mark.usefixtures("chromium")

ENDLESS = (
    "n = Constant <value = int64 {2000000000}> () t = Constant <value = bool {1}> () "
    "y = Loop (n, t, x) <body = b (int64 i, bool go, float[1, 8] s) => (bool on, float[1, 8] r) "
    "{ on = Identity (go) r = Neg (s) }>"
)

DROP = """([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0)), files = new DataTransfer();
  files.items.add(new File([bytes], name));
  window.dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
}"""


def drop(page: Any, name: str, content: bytes) -> None:
    page.evaluate(DROP, [name, base64.b64encode(content).decode()])


def run(page: Any) -> None:
    """Run the model, and wait until it is done."""
    page.click("#run")
    page.wait_for_selector("#run:text-is('▶ Run')")


def product() -> Model:
    model = parsed("a = MatMul (x, x) b = Tanh (a) y = Softmax (b)", inputs="float[1, 64] x")
    weight = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model.graph.nodes[0].replace_input(1, model.graph.add_initializer("w", weight))
    return model


def attention() -> Model:
    body = "t = Transpose <perm = [0, 1, 3, 2]> (x) a = MatMul (x, t) s = Softmax (a) y = MatMul (s, x)"
    return parsed(body, inputs="float[1, 3, 5, 4] x")


def test_a_profile_colours_nodes_and_lists_kernels(open_page: Open) -> None:
    page = open_page(layers(12, names="/encoder/layer.{}/"))
    page.evaluate("ingot.closeAll()")
    page.click("#profile")
    page.click("#desk button:text-is('Measure')")
    page.wait_for_selector("#desk .ranked .step", timeout=60_000)
    assert page.is_visible("#scale")
    assert not page.is_visible("#legend")
    measured = page.evaluate("ingot.drawing.measured.levels.size")
    assert measured > 10
    page.focus("#desk .ranked .step")
    page.evaluate("ingot.select({ kind: 'item', instance: ingot.root, item: 1 })")
    page.evaluate("window.toggled = 0, ingot.toggle = () => window.toggled++, 0")
    page.keyboard.press("Enter")  # leads to the nodes of the kernel, and opens no group besides
    assert page.evaluate("window.toggled") == 0
    page.locator("#desk .ranked .step").first.click()
    wait_for(page, "ingot.drawing.ringed.size > 0")
    page.wait_for_selector("#panel h2:text-is('Cost')")
    page.select_option("#desk [data-role=colour]", "1")
    assert page.inner_text("#scale b") == "bytes"
    for diagram in ("timeline", "roofline"):  # both can be gone through by keyboard
        page.click(f"#desk [data-tab={diagram}]")
        page.focus(f"#desk canvas.{diagram}")
        page.evaluate("ingot.drawing.ringed.clear()")
        page.keyboard.press("ArrowRight")
        assert " s" in page.inner_text("#desk p[role=status]").replace("µs", " s").replace("ms", " s")
        page.keyboard.press("Enter")
        wait_for(page, "ingot.drawing.ringed.size > 0")
    page.click("#scale button")
    assert page.evaluate("ingot.drawing.measured") is None
    page.click("#desk .close")
    assert not page.is_visible("#desk")


def test_a_measure_of_half_a_million_nodes_colours_them(open_page: Open, tmp_path: Path) -> None:
    model = layers(3, names="/encoder/layer.{}/")
    measured = profile(model, {"x": np.ones((4, 8), np.float32)}, threads=1, precision=None, seconds=0, cancel=Cancel())
    text = saved_page(ProfilePage(Answers(model, "saved"), measured))
    many = ",".join(f'"{leaf}":[1.0,1,1]' for leaf in range(1000, 500_000))
    (tmp_path / "page.html").write_text(text.replace('"nodes":{"', '"nodes":{' + many + ',"', 1), "utf-8")
    page = open_page(model, url=(tmp_path / "page.html").as_uri())
    page.wait_for_selector("#desk .ranked .step")
    assert page.evaluate("ingot.drawing.measured.leaves.size") > 490_000


def test_a_saved_profile_works_from_disk(open_page: Open, tmp_path: Path) -> None:
    model = layers(3, names="/encoder/layer.{}/")
    feeds = {"x": np.ones((4, 8), np.float32)}
    measured = profile(model, feeds, threads=1, precision=None, seconds=0, cancel=Cancel())
    (tmp_path / "page.html").write_text(saved_page(ProfilePage(Answers(model, "saved"), measured)), "utf-8")
    page = open_page(model, url=(tmp_path / "page.html").as_uri())
    page.wait_for_selector("#desk .ranked .step")
    assert page.evaluate("ingot.drawing.measured.leaves.size") > 0
    assert not page.is_visible("#run")
    page.click("#desk [data-tab=roofline]")
    page.wait_for_selector("#desk canvas.roofline")


def test_heads_are_chosen_and_values_stay_pinned_over_runs(open_page: Open) -> None:
    page = open_page(attention())
    run(page)
    click(page, "Softmax")
    page.wait_for_selector("#panel .flowed input.tiles")
    assert "all heads" in panel(page)
    page.locator("#panel .chooser button:text-is('›')").click()
    page.wait_for_selector("#panel .chooser :text('head 1 of 3')")
    page.locator("#panel .chooser button:text-is('‹')").click()
    page.click("#panel .pin")
    page.wait_for_selector("#desk .cards canvas")
    before = page.inner_text("#desk .cards")
    page.keyboard.press("Escape")
    page.locator("#panel input[type=number]").first.fill("7")
    run(page)
    wait_for(page, f"document.querySelector('#desk .cards').innerText !== {json.dumps(before)}")


def test_playing_goes_from_layer_to_layer_in_order(open_page: Open) -> None:
    page = open_page(attention())
    run(page)
    page.click("#panel .play")
    page.wait_for_selector("#player")
    page.wait_for_selector("#panel h1:text-is('Transpose')")
    page.locator("#player button:text-is('›')").click()
    page.wait_for_selector("#panel h1:text-is('MatMul')")
    page.locator("#player button:text-is('›')").click()
    page.wait_for_selector("#panel h1:text-is('Softmax')")
    page.locator("#player button[title=Close]").click()
    assert page.locator("#player").count() == 0


def test_a_slider_shows_what_moves(open_page: Open) -> None:
    page = open_page(product())
    page.click("#panel .input button:text-is('Slider')")
    page.evaluate(
        "(() => { const s = document.querySelector('#panel .slider input[type=range]'); s.value = 1.5;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    page.wait_for_selector("#desk .ranked .step", timeout=20_000)
    assert "difference" in page.inner_text("#scale b")
    page.click("#panel .input button:text-is('Slider')")
    page.wait_for_selector("#panel .slider input", state="detached")


def test_a_slider_is_dragged_while_the_model_runs(open_page: Open) -> None:
    page = open_page(product())
    page.click("#panel .input button:text-is('Slider')")
    slider = page.locator("#panel .slider input[type=range]")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], y)
    wait_for(page, "!document.getElementById('scale').hidden")  # what moves is shown before the mouse lets go
    before = float(slider.input_value())
    page.mouse.move(box["x"] + 0.9 * box["width"], y)
    page.mouse.up()
    assert float(slider.input_value()) > before > 1
    page.wait_for_selector("#run:text-is('▶ Run')")
    page.keyboard.press("ArrowLeft")  # it has the focus still
    assert float(slider.input_value()) > before
    wait_for(page, "document.activeElement.type === 'range'")


def test_controls_keep_the_focus_while_the_model_runs(open_page: Open) -> None:
    page = open_page(product())
    page.focus("#panel .run button.primary")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .run .play")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    page.focus("#panel .run input[type=number]")
    page.keyboard.press("Control+a")
    page.keyboard.press("4")
    page.evaluate("document.getElementById('run').click()")
    page.wait_for_selector("#run:text-is('▶ Run')")
    page.keyboard.press("2")
    assert page.input_value("#panel .run input[type=number]") == "42"


def test_a_precision_is_compared_and_the_worst_listed(open_page: Open) -> None:
    page = open_page(product())
    run(page)
    page.click("#profile")
    page.click("#desk [data-tab=differences]")
    page.select_option("#desk select", "bf16")
    page.click("#desk button:text-is('Compare')")
    page.wait_for_selector("#desk .ranked .step", timeout=60_000)
    page.locator("#desk .ranked .step").first.click()
    wait_for(page, "ingot.selection.kind === 'item'")


def test_two_inputs_are_compared(open_page: Open) -> None:
    page = open_page(product())
    run(page)
    page.click("#profile")
    page.click("#desk [data-tab=differences]")
    page.click("#desk button:text-is('Keep this run')")
    page.locator("#panel .run input[type=number]").first.fill("3")
    run(page)
    page.wait_for_selector("#desk .ranked .step")
    assert "the run before" in page.inner_text("#desk")


def test_a_frame_of_the_camera_becomes_an_input(open_page: Open) -> None:
    pytest.importorskip("PIL", reason="images are read by Pillow")
    page = open_page(parsed("y = GlobalAveragePool (x)", inputs="float[1, 3, 24, 32] x"))
    page.click("#panel button:text-is('Camera')")
    page.click("dialog button:text-is('Use this frame')", timeout=10_000)
    page.wait_for_selector("#panel .input :text('camera.png: float32[1, 3, 24, 32]')")
    run(page)
    assert page.evaluate("ingot.scene.ranges.size") == 2


def test_a_text_is_tokenised_in_the_page(open_page: Open) -> None:
    page = open_page(parsed("y = Cast <to = 1> (ids)", inputs="int64[b, t] ids"))
    file = {"model": {"type": "WordLevel", "vocab": {"hello": 7, "world": 9}}, "pre_tokenizer": {"type": "Whitespace"}}
    drop(page, "tokenizer.json", json.dumps(file).encode())
    page.wait_for_selector("#panel .text :text('WordLevel, 2 tokens')")
    page.fill("#panel textarea", "hello world")
    page.click("#panel button:text-is('Use the text')")
    page.wait_for_selector("#panel .input :text('2 tokens: int64[1, 2]')")
    run(page)
    assert "7 … 9" in page.evaluate("[...ingot.scene.ranges.values()]")


def test_an_input_of_one_element_is_typed_in(open_page: Open) -> None:
    page = open_page(parsed("y = Mul (x, rate)", inputs="int64[2] x, int64 rate"))
    page.fill("#panel .input input[placeholder=value]", "16000")
    page.press("#panel .input input[placeholder=value]", "Enter")
    page.wait_for_selector("#panel .input :text('typed.json: int64[] = 16000')")
    run(page)
    assert "16000 … 16000" in str(page.evaluate("[...ingot.scene.ranges.values()]")).replace("1.6e+04", "16000")


def test_dropped_files_become_inputs(open_page: Open) -> None:
    page = open_page(parsed("y = Add (x, z)", inputs="float[n] x, float[n] z"))
    drop(page, "z.npy", npy(np.arange(5, dtype=np.float32)))
    page.wait_for_selector("#panel .input :text('z.npy: float32[5]')")
    content = io.BytesIO()
    with wave.open(content, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(np.arange(5, dtype="<i2").tobytes())
    drop(page, "clip.wav", content.getvalue())
    page.click("dialog.ask button")
    page.wait_for_selector("#panel .input :text('clip.wav: float32[5]')")
    run(page)
    assert page.evaluate("ingot.scene.ranges.size") == 3


def test_a_dropped_model_opens(open_page: Open) -> None:
    page = open_page(parsed("y = Neg (x)"))
    first = page.url
    drop(page, "other.onnx", encode(parsed("y = Sigmoid (x)")))
    page.wait_for_selector("#name:text-is('other.onnx')")
    page.wait_for_selector("body[data-typed]")
    assert visible(page) == ["x", "Sigmoid", "y"]
    assert page.is_visible("#edit")
    drop(page, "third.onnxtxt", b'<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Erf (x) }')
    page.wait_for_selector("#name:text-is('third.onnxtxt')")
    page.wait_for_selector("body[data-typed]")
    run(page)
    page.go_back()
    page.wait_for_selector("#name:text-is('other.onnx')")
    page.goto(first)
    page.wait_for_selector("#name:text-is('model.onnx')")
    page.wait_for_selector("body[data-typed]")


@pytest.fixture
def complaining_page(chromium: Any) -> Iterator[Any]:
    """Opens pages of a server whose requests may fail."""
    servers = []

    def opened(model: Model, url: str | None = None) -> Any:
        answers = Answers(model, "model.onnx")
        if url is None:
            servers.append(Server(lambda: answers))
            url = servers[-1].url
        page = chromium.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.goto(url)
        page.wait_for_selector("body[data-typed]", timeout=20_000)
        return page

    yield opened
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    ("name", "content"), [("broken.onnx", b"\x08\x0a\xff"), ("evil.pkl", b"\x80\x04."), ("thing.onnx", b"")]
)
def test_a_dropped_file_that_is_no_model_is_refused_in_words(complaining_page: Any, name: str, content: bytes) -> None:
    page = complaining_page(parsed("y = Neg (x)"))
    drop(page, name, content)
    page.wait_for_selector("#message.bad")
    assert page.inner_text("#name") == "model.onnx"


def test_a_run_that_is_stopped_says_so_and_the_next_one_works(complaining_page: Any) -> None:
    page = complaining_page(parsed(ENDLESS, inputs="float[1, 8] x"))
    page.click("#run")
    page.wait_for_selector("#panel .busy")
    page.click("#panel button:text-is('Stop')")
    page.wait_for_selector("#panel .state .bad:text('cancelled')", timeout=20_000)


def test_a_page_that_is_loaded_again_in_a_run_finds_it(complaining_page: Any) -> None:
    page = complaining_page(parsed(ENDLESS, inputs="float[1, 8] x"))
    page.click("#run")
    page.wait_for_selector("#panel .busy")
    page.reload()
    page.wait_for_selector("body[data-typed]")
    page.wait_for_selector("#panel .busy")
    page.click("#panel button:text-is('Stop')")
    page.wait_for_selector("#panel .busy", state="detached", timeout=20_000)
    page.wait_for_selector("#run:text-is('▶ Run')")


@pytest.fixture
def endless_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons and measurements that end when they are cancelled."""

    def wait(*arguments: Any, cancel: Cancel | None = None, **_: Any) -> None:
        watched = cancel or next(each for each in arguments if isinstance(each, Cancel))
        while True:
            watched.check()
            time.sleep(0.01)

    monkeypatch.setattr("ingot.view.elsewhere.values_compiled", wait)
    monkeypatch.setattr("ingot.view.profiles.profile", wait)


@pytest.mark.usefixtures("endless_works")
def test_a_comparison_is_stopped(complaining_page: Any) -> None:
    page = complaining_page(parsed("a = Neg (x) y = Exp (a)"))
    run(page)
    page.click("#panel button:text-is('Compare it …')")
    page.click("#desk button:text-is('Compare')")
    page.wait_for_selector("#desk button:text-is('Comparing …')")
    page.click("#desk button:text-is('Stop')")
    page.wait_for_selector("#desk button:text-is('Compare')")
    assert page.query_selector("#desk .bad, #desk button:text-is('Stop')") is None


@pytest.mark.usefixtures("endless_works")
def test_a_measurement_is_found_by_a_page_that_is_loaded_again_and_stopped(complaining_page: Any) -> None:
    page = complaining_page(parsed("a = Neg (x) y = Exp (a)"))
    page.keyboard.press("t")
    page.click("#desk button:text-is('Measure')")
    page.wait_for_selector("#desk button:text-is('Measuring …')")
    page.reload()
    page.wait_for_selector("#desk button:text-is('Measuring …')")
    page.click("#desk button:text-is('Stop')")
    page.wait_for_selector("#desk button:text-is('Measure')")
    assert page.query_selector("#desk .bad, #desk button:text-is('Stop')") is None


def test_a_comparison_is_found_by_a_page_that_is_loaded_again(
    complaining_page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = threading.Event()

    def values(_: Model, names: Any, feeds: Any, *__: Any) -> Any:
        compiled.wait(20)
        return {name: np.asarray(feeds["x"]) for name in names}

    monkeypatch.setattr("ingot.view.elsewhere.values_compiled", values)
    page = complaining_page(parsed("a = Neg (x) y = Exp (a)"))
    run(page)
    page.click("#panel button:text-is('Compare it …')")
    page.click("#desk button:text-is('Compare')")
    page.wait_for_selector("#desk button:text-is('Comparing …')")
    page.reload()
    page.wait_for_selector("#desk button:text-is('Comparing …')")
    compiled.set()
    page.wait_for_selector("#desk .ranked .step")
    assert page.is_visible("#scale")
    page.reload()  # what was compared is there in its tab
    page.wait_for_selector("body[data-typed]")
    wait_for(page, "document.querySelector('.state')?.textContent.startsWith('ran in')")
    page.click("#panel button:text-is('Compare it …')")
    page.wait_for_selector("#desk .ranked .step")


def test_two_tabs_do_not_disturb_each_other(complaining_page: Any) -> None:
    model = parsed("a = Neg (x) y = Exp (a)")
    one = complaining_page(model)
    other = complaining_page(model, one.url)
    one.fill("#panel label input[type=text]", "3")
    other.fill("#panel label input[type=text]", "5")
    run(one)
    run(other)
    for page, size in ((one, "3 × 8"), (other, "5 × 8")):
        click(page, "Neg")
        page.wait_for_selector("#panel .flowed table")
        assert size in page.inner_text("#panel .flowed")


def test_a_page_whose_server_has_ended_says_so(complaining_page: Any) -> None:
    model = parsed("y = Neg (x)")
    answers = Answers(model, "model.onnx")
    with Server(lambda: answers) as server:
        page = complaining_page(model, server.url)
    page.click("#run")
    page.wait_for_selector("#panel .state .bad")
    assert "'ingot view' has ended; start it again" in page.inner_text("#panel .state")


def test_a_run_that_fails_says_why(complaining_page: Any) -> None:
    page = complaining_page(parsed("y = MatMul (x, x)", inputs="float[n, 8] x"))
    page.click("#run")
    page.wait_for_selector("#panel .state .bad")
    assert "inner dimensions" in page.inner_text("#panel .state")


def test_inputs_outlive_an_edit_and_its_undo(open_page: Open) -> None:
    page = open_page(parsed("a = Tanh (x) y = Exp (a)", inputs="float[n, 8] x, float[8] unused"))
    drop(page, "x.npy", npy(np.full((3, 8), 0.5, np.float32)))
    page.wait_for_selector("#panel .input:has-text('x.npy: float32[3, 8]')")
    page.keyboard.press("m")
    page.select_option("#panel [data-field='pass']", index=0)
    page.click("#panel button:text-is('Apply')")
    page.wait_for_selector("#panel button:text-is('↶ Undo 1')")
    page.wait_for_selector("#panel .input:has-text('x.npy: float32[3, 8]')")
    page.click("#panel button:text-is('↶ Undo 1')")
    page.wait_for_selector("#panel button:text-is('↷ Redo 1')")
    page.wait_for_selector("#panel .input:has-text('x.npy: float32[3, 8]')")
    run(page)
    assert "0.5 … 0.5" in page.evaluate("[...ingot.scene.ranges.values()]")


def test_an_edited_model_is_run_as_it_is_now(open_page: Open) -> None:
    page = open_page(parsed("a = Abs (x) y = Neg (a)"))
    run(page)
    wait_for(page, "[...ingot.scene.ranges.values()].some((text) => text.startsWith('-'))")
    page.click("#profile")
    page.click("#desk button:text-is('Measure')")
    page.wait_for_selector("#desk .ranked .step", timeout=60_000)
    page.click("#edit")
    click(page, "Neg")
    page.wait_for_selector("#panel [data-field='operator']")
    page.fill("#panel [data-field='operator']", "Relu")
    page.press("#panel [data-field='operator']", "Enter")
    page.wait_for_selector("#panel h1:text-is('Relu')")
    assert page.evaluate("[ingot.scene.ranges.size, ingot.drawing.measured]") == [0, None]
    run(page)
    click(page, "Relu")
    page.wait_for_selector("#panel .flowed table")
    assert "minimum\t-" not in page.inner_text("#panel .flowed")
