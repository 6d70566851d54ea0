"""The page in a real browser."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

import pytest

from ingot import Model
from ingot.view.answers import Answers
from ingot.view.api import save_page
from ingot.view.bundled import PAGE
from ingot.view.opening import opened_at_first
from ingot.view.reflow import Placed, place
from ingot.view.server import Server
from view.conftest import Open
from view.samples import layers, parsed

pytestmark = pytest.mark.usefixtures("chromium")

MOST_CALLS = 1500
"""Calls of the canvas in a frame of what fits a screen."""

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">\u202egnp.exe'

VISIBLE = """() => {
  const walk = (instance, x, y) => instance.level.items.flatMap((item, i) => {
    const left = x + instance.now.lefts[i], top = y + instance.now.tops[i], open = instance.inner.get(i);
    if (open) return walk(open, left, top);
    return item.width ? [[item.title, left, top, instance.now.widths[i], instance.now.heights[i]]] : [];
  });
  return walk(ingot.root, 0, 0);
}"""


@pytest.fixture(scope="module")
def encoder() -> Model:
    return layers(12, names="/encoder/layer.{}/")


def visible(page: Any) -> list[str]:
    return [box[0] for box in page.evaluate(VISIBLE)]


def panel(page: Any) -> str:
    text: str = page.inner_text("#panel")
    return text


def spot(page: Any, title: str) -> tuple[float, float]:
    """The middle of a box on the screen."""
    box = next(box for box in page.evaluate(VISIBLE) if box[0] == title)
    camera = page.evaluate("ingot.camera")
    area = page.locator("#graph").bounding_box()
    x = (box[1] + box[3] / 2 - camera["x"]) * camera["scale"]
    y = (box[2] + box[4] / 2 - camera["y"]) * camera["scale"]
    return area["x"] + x, area["y"] + y


def click(page: Any, title: str, *, twice: bool = False) -> None:
    x, y = spot(page, title)
    (page.mouse.dblclick if twice else page.mouse.click)(x, y)


def wait_for(page: Any, script: str) -> None:
    """Wait until a script is true: the page's policy forbids playwright's own way."""
    for _ in range(200):
        if page.evaluate(script):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"never: {script}")


def positions(placed: Placed, x: float = 0.0, y: float = 0.0) -> list[list[Any]]:
    boxes: list[list[Any]] = []
    for item, each in enumerate(placed.level.items):
        left, top = x + placed.lefts[item], y + placed.tops[item]
        if item in placed.inner:
            boxes += positions(placed.inner[item], left, top)
        elif each.box.width:
            boxes.append([each.label.title, left, top, placed.widths[item], placed.heights[item]])
    return boxes


def test_the_page_stands_where_python_has_placed_it(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    scene = Answers(encoder, "").scene
    expected = positions(place(scene, scene.root, opened_at_first(scene)))
    boxes = page.evaluate(VISIBLE)
    assert [box[0] for box in boxes] == [box[0] for box in expected]
    for box, other in zip(boxes, expected, strict=True):
        assert box[1:] == pytest.approx(other[1:], abs=0.1)


def test_equal_layers_are_drawn_once_and_each_can_be_reached(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    page.evaluate("ingot.closeAll()")
    click(page, "encoder/layer × 12")
    assert "12" in panel(page)
    page.keyboard.press("Enter")
    wait_for(page, "ingot.root.inner.size === 1")
    assert visible(page).count("ReduceMean") == 1
    page.keyboard.press("]")
    page.keyboard.press("]")
    wait_for(page, "[...ingot.root.inner.values()][0].chosen === 2")
    click(page, "Tanh")
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    assert "/encoder/layer.2/Tanh_18" in panel(page)


def test_search_opens_what_is_around_a_node_and_shows_it(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    page.keyboard.press("/")
    page.keyboard.type("layer.7 sigmoid")
    page.wait_for_selector("#hits li")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel h1:text-is('Sigmoid')")
    assert "#node=%2Fencoder%2Flayer.7%2FSigmoid_60" in page.url
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#panel h1:text-is('Mul')")
    page.keyboard.press("Alt+ArrowLeft")
    page.wait_for_selector("#panel h1:text-is('Sigmoid')")
    page.keyboard.press("Alt+ArrowRight")
    page.wait_for_selector("#panel h1:text-is('Mul')")


def test_a_link_leads_to_its_node(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder, "#node=%2Fencoder%2Flayer.5%2FExp_43")
    page.wait_for_selector("#panel h1:text-is('Exp')")
    assert "layer.5" in panel(page)


@pytest.mark.parametrize("fragment", ["#node=%", "#node=gone", "#value=%E0%A4%A", "#group=99", "#group=x"])
def test_a_link_to_what_is_not_there_says_so(open_page: Open, encoder: Model, fragment: str) -> None:
    page = open_page(encoder, fragment)
    assert page.inner_text("#message").startswith("there is no")
    assert panel(page).startswith("model.onnx")


def test_a_link_leads_to_a_value_inside_of_a_closed_group(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder, "#value=d9")
    page.wait_for_selector("#panel h1:text-is('d9')")
    assert page.evaluate("[...ingot.drawing.followed].length") == 1


def test_who_types_fast_finds_too(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    page.evaluate(
        "(() => { const get = ingot.scene.get.bind(ingot.scene); ingot.scene.listed = null;"
        " ingot.scene.get = (path) => new Promise((done) => setTimeout(done, 500)).then(() => get(path)); })()"
    )
    page.keyboard.press("/")
    page.keyboard.type("layer.5 exp")
    page.keyboard.press("Enter")  # before the names of nodes are there
    page.wait_for_selector("#panel h1:text-is('Exp')")
    assert not page.is_visible("#hits")


@pytest.mark.parametrize("words", ["float32[n, 8] exp", "layer.7 n × 8 exp"])
def test_types_and_sizes_that_were_inferred_are_found(open_page: Open, encoder: Model, words: str) -> None:
    page = open_page(encoder)
    page.fill("#search", words)
    page.wait_for_selector("#hits li b:text-is('Exp')")


def test_groups_are_found_and_nodes_by_the_groups_that_they_are_in(open_page: Open) -> None:
    model = layers(6)
    for number, node in enumerate(model.graph.nodes[:-1]):  # named as PyTorch's exporter does it
        modules = f": net.Net/encoder: net.Encoder/encoder.layer.{number // 8}: net.EncoderLayer"
        node.name = f"n{number}"
        node.metadata["namespace"] = f"{modules}/{node.name}: aten.op"
    page = open_page(model)
    page.fill("#search", "layer.4")
    page.wait_for_selector("#hits li b:text-is('group')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .row:has-text('5 of 6')")
    for words in ("layer.3 tanh", "encoderlayer tanh"):
        page.fill("#search", words)
        page.wait_for_selector("#hits li b:text-is('Tanh')")
    assert page.locator("#hits li").count() == 6
    page.fill("#search", "layer.3 tanh")
    page.wait_for_function("document.querySelectorAll('#hits li').length === 1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    page.fill("#search", "layer.9")
    page.wait_for_selector("#hits li:text('nothing')")


def test_a_value_is_followed_from_the_panel_to_its_readers(open_page: Open) -> None:
    page = open_page(parsed("a = Tanh (x) b = Exp (a) c = Neg (a) y = Add (b, c)"))
    click(page, "Tanh")
    page.click("#panel .port button:text-is('a')")
    page.wait_for_selector("#panel h2:text-is('Read by 2')")
    assert page.evaluate("[...ingot.drawing.followed].length") == 1
    page.click("#panel button:text('Neg')")
    page.wait_for_selector("#panel h1:text-is('Neg')")


def test_the_documentation_of_an_operator_has_its_names_set_apart(open_page: Open) -> None:
    page = open_page(parsed("y = Exp (x)"))
    click(page, "Exp")
    page.wait_for_selector("#panel p code:text-is('x')")
    assert "`" not in panel(page)


def test_a_line_can_be_clicked(open_page: Open) -> None:
    page = open_page(parsed("a = Tanh (x) y = Exp (a)"))
    (x, above), (_, below) = spot(page, "Tanh"), spot(page, "Exp")
    page.mouse.click(x, (above + below) / 2)
    page.wait_for_selector("#panel h1:text-is('a')")
    assert "float32[n, 8]" in panel(page)


def test_weights_show_their_elements(open_page: Open) -> None:
    model = parsed("a = MatMul (x, x) y = Relu (a)")
    weight = model.graph.add_initializer("weight", [[1.0] * 2] * 8)
    model.graph.nodes[0].replace_input(1, weight)
    page = open_page(model)
    click(page, "MatMul")
    page.click("#panel button:text-is('weight')")
    page.wait_for_selector("#panel .histogram canvas")
    assert "download .npy" in panel(page)


def test_names_with_markup_are_shown_as_text(open_page: Open) -> None:
    model = parsed("a = Tanh (x) y = Exp (a)")
    model.graph.nodes[0].name = HOSTILE
    model.graph.nodes[0].outputs[0].name = HOSTILE + "2"
    model.metadata[HOSTILE] = HOSTILE
    model.doc_string = HOSTILE
    page = open_page(model)
    assert HOSTILE.replace("\u202e", r"\u202e") in panel(page)  # the mark would show another name: exe.png
    assert "\u202e" not in page.inner_text("body")
    click(page, "Tanh")
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    assert page.evaluate("document.querySelectorAll('#panel img, #panel script').length") == 0
    page.fill("#search", "onerror")
    page.wait_for_selector("#hits li")
    assert page.evaluate("document.querySelectorAll('#hits img, #hits script').length") == 0


def test_keys_zoom_fit_close_and_change_the_colours(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    page.evaluate("ingot.canvas.focus()")
    before = page.evaluate("ingot.camera.scale")
    page.keyboard.press("+")
    assert page.evaluate("ingot.camera.scale") > before
    page.keyboard.press("f")
    assert page.evaluate("ingot.camera.scale") == pytest.approx(before)
    page.keyboard.press("c")
    assert page.evaluate("ingot.root.inner.size") == 0
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("e")
    wait_for(page, "ingot.root.inner.size > 0")
    page.keyboard.press("?")
    assert page.is_visible("#keys")


def test_arrows_lead_into_open_groups_and_out_of_them(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    page.evaluate("ingot.closeAll()")
    page.evaluate("ingot.canvas.focus()")

    def pressed(*keys: str) -> str:
        for key in keys:
            page.keyboard.press(key)
        wait_for(page, "ingot.selection.kind === 'item'")
        title: str = page.evaluate("ingot.selection.instance.level.items[ingot.selection.item].title")
        return title

    assert pressed("ArrowDown", "ArrowDown") == "encoder/layer × 12"
    page.keyboard.press("Enter")
    wait_for(page, "ingot.root.inner.size === 1")
    assert pressed("ArrowDown") == "ReduceMean"
    assert pressed("ArrowUp") == "encoder/layer × 12"
    assert pressed("ArrowDown", "ArrowDown") == "Sub"
    titles = [pressed("ArrowDown") for _ in range(6)]
    assert titles[-1] == "Relu"  # out of the group, and on
    assert pressed("ArrowUp") == "Add"  # back inside, to what computes it


def test_a_branch_opens_inside_of_its_node(open_page: Open) -> None:
    branch = (
        "then_branch = t () => (float[n, 8] r) { r = Exp (x) }, else_branch = e () => (float[n, 8] s) { s = Neg (x) }"
    )
    page = open_page(parsed(f"y = If (c) <{branch}>", inputs="float[n, 8] x, bool c"))
    click(page, "If", twice=True)
    wait_for(page, "ingot.root.inner.size === 1")
    assert {"then_branch", "else_branch"} <= set(visible(page))
    click(page, "then_branch", twice=True)
    wait_for(page, "[...ingot.root.inner.values()][0].inner.size === 1")
    assert "Exp" in visible(page)


def test_search_leads_into_functions_and_branches_of_groups_that_are_closed(open_page: Open, tmp_path: Path) -> None:
    branch = (
        "then_branch = t () => (float[n, 8] r) { r = Tanh (x) }, else_branch = e () => (float[n, 8] s) { s = Sin (x) }"
    )
    model = parsed(
        f"b = If (c) <{branch}> d = local.twice (b) e = Exp (d) f = Exp (e) h = Neg (f) y = Neg (h)",
        inputs="float[n, 8] x, bool c",
        functions='<opset_import: ["" : 21], domain: "local"> twice (p) => (q) { o = Cos (p) q = Sqrt (o) }',
    )
    for number, node in enumerate(model.graph.nodes):
        node.name = f"/part/{node.op_type}_{number}"
    save_page(model, tmp_path / "page.html", title="nested")
    for url in (None, (tmp_path / "page.html").as_uri()):
        page = open_page(model, url=url)
        page.evaluate("ingot.closeAll()")
        for operator in ("Cos", "Sin"):
            page.fill("#search", operator.lower())
            page.wait_for_selector("#hits li")
            page.press("#search", "Enter")
            page.wait_for_selector(f"#panel h1:text-is('{operator}')")
        page.fill("#search", "nowhere")
        page.wait_for_selector("#hits li:has-text('nothing has this name')")
        page.press("#search", "Enter")
        assert page.is_visible("#hits")


WRITTEN = """() => {
  const context = ingot.drawing.context, own = context.fillText, seen = {};
  context.fillText = (text, ...rest) => {
    seen[text] = parseFloat(/[\\d.]+(?=px)/.exec(context.font)[0]) * ingot.camera.scale;
    own.call(context, text, ...rest);
  };
  ingot.drawNow();
  delete context.fillText;
  return seen;
}"""
"""The texts of a frame, with their sizes on the screen."""


def test_titles_can_be_read_where_there_is_no_room_for_more(open_page: Open) -> None:
    page = open_page(layers(12, names="/a.{}/"))
    page.evaluate("ingot.closeAll()")
    near = page.evaluate(WRITTEN)
    assert any("nodes" in text for text in near)
    page.evaluate("ingot.zoom(0.3 / ingot.camera.scale, ingot.width / 2, ingot.height / 2)")
    far = page.evaluate(WRITTEN)
    assert not any("nodes" in text for text in far)
    assert far["a × 12"] > 4.5  # of 10, and 3.6 as large as before


def test_what_is_in_the_middle_stays_there_when_the_window_changes(open_page: Open, encoder: Model) -> None:
    page = open_page(encoder)
    middle = "[0, 1].map((i) => ingot.camera['xy'[i]] + [ingot.width, ingot.height][i] / 2 / ingot.camera.scale)"
    before = page.evaluate(middle)
    page.set_viewport_size({"width": 700, "height": 500})
    wait_for(page, "ingot.width < 700 || ingot.height < 500")
    assert page.evaluate(middle) == pytest.approx(before, abs=1)


def test_the_panel_and_the_desk_follow_the_colours(open_page: Open) -> None:
    page = open_page(parsed("a = Exp (x) y = Neg (a)"))
    click(page, "Exp")
    page.wait_for_selector("#panel .tag")
    before = page.evaluate("document.querySelector('#panel .tag').style.background")
    page.keyboard.press("d")
    wait_for(page, f"document.querySelector('#panel .tag').style.background !== {before!r}")


def test_a_saved_page_works_from_disk(open_page: Open, encoder: Model, tmp_path: Path) -> None:
    save_page(encoder, tmp_path / "page.html", title=HOSTILE)
    page = open_page(encoder, url=(tmp_path / "page.html").as_uri())
    page.evaluate("ingot.openAll()")
    wait_for(page, "ingot.root.inner.size > 0")
    click(page, "Sigmoid")
    page.wait_for_selector("#panel h1:text-is('Sigmoid')")
    page.fill("#search", "layer.9 neg")
    page.wait_for_selector("#hits li")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel h1:text-is('Neg')")


def test_problems_of_a_model_lead_to_their_nodes(open_page: Open) -> None:
    page = open_page(parsed("a = Relu <alpha: int = 3> (x) y = local.Unknown (a)"))
    page.wait_for_selector("#panel .problem")
    page.locator("#panel .problem button").first.click()
    page.wait_for_selector("#panel h1:text-is('Relu')")
    page.wait_for_selector("#panel .problem:has-text('alpha')")
    assert page.evaluate("ingot.drawing.marks.leaves.size") >= 1


COUNTED = """(scale) => {
  const context = ingot.drawing.context, own = CanvasRenderingContext2D.prototype;
  const names = ["fill", "stroke", "fillRect", "fillText", "strokeText", "lineTo", "bezierCurveTo", "clip"];
  const { width, height } = ingot.root.now;
  let most = 0, calls = 0;
  for (const name of names) context[name] = (...args) => { calls++; return own[name].apply(context, args); };
  for (let i = 0; i < 30; i++) {
    calls = 0;
    const camera = { scale, x: width / 2 - ingot.width / 2 / scale, y: (height * i) / 30 };
    ingot.drawing.frame(ingot.root, camera, ingot.width, ingot.height, ingot.ratio);
    most = Math.max(most, calls);
  }
  for (const name of names) delete context[name];
  return most;
}"""


def test_a_frame_of_ten_thousand_open_nodes_draws_only_what_is_seen(open_page: Open) -> None:
    page = open_page(unlike(1250))
    page.evaluate("ingot.openAll()")
    wait_for(page, "!ingot.motion && ingot.root.inner.size > 0")
    page.wait_for_timeout(200)
    assert len(visible(page)) > 9000
    for scale in (1.0, 0.3, 0.1, 0.05, 0.02):
        assert page.evaluate(COUNTED, scale) < MOST_CALLS


DASHED = """(scale) => {
  const context = ingot.drawing.context, own = CanvasRenderingContext2D.prototype, { width, height } = ingot.root.now;
  let length = 0, most = 0, at = [0, 0];
  const watch = (name, act) => (context[name] = (...args) => { act(...args); return own[name].apply(context, args); });
  watch("beginPath", () => (length = 0));
  watch("moveTo", (x, y) => (at = [x, y]));
  watch("lineTo", (x, y) => { length += Math.hypot(x - at[0], y - at[1]); at = [x, y]; });
  watch("roundRect", (x, y, w, h) => (length += 2 * (w + h)));
  watch("stroke", () => context.getLineDash().length && (most = Math.max(most, length)));
  for (let i = 0; i < 10; i++) {
    const camera = { scale, x: width / 2 - ingot.width / 2 / scale, y: (height * i) / 10 };
    ingot.drawing.frame(ingot.root, camera, ingot.width, ingot.height, ingot.ratio);
  }
  for (const name of ["beginPath", "moveTo", "lineTo", "roundRect", "stroke"]) delete context[name];
  return most * scale;
}"""
"""The longest path that is dashed in frames at a scale, in pixels of the screen."""


def test_the_dashes_of_a_frame_are_those_that_are_seen(open_page: Open) -> None:
    page = open_page(unlike(120))
    page.evaluate("ingot.openAll()")
    wait_for(page, "!ingot.motion && ingot.root.inner.size > 0")
    height = page.evaluate("ingot.root.now.height")
    for scale in (1.0, 0.5, 0.3):
        longest = page.evaluate(DASHED, scale)
        assert 0 < longest < 2 * (1280 + 800)
        assert longest < height * scale


def unlike(count: int) -> Model:
    """Layers that all differ, so that each is drawn."""
    model = layers(count, names="/stage/block_{}/")
    for number, node in enumerate(model.graph.nodes[::8]):
        node.attributes["keepdims"] = number  # a number that means nothing, for a picture alone
    return model


def test_the_page_is_drawn_soon(open_page: Open, encoder: Model) -> None:
    begin = time.perf_counter()
    page = open_page(encoder)
    drawn = page.evaluate("performance.getEntriesByName('first picture')[0].startTime")
    assert drawn < 3000
    assert time.perf_counter() - begin < 15


def test_a_page_that_is_hidden_does_not_wait_for_frames(chromium: Any, encoder: Model) -> None:
    answers = Answers(encoder, "model.onnx")
    with Server(lambda: answers) as server, contextlib.closing(chromium.new_page()) as page:
        page.add_init_script("window.requestAnimationFrame = () => 1;")  # as in a tab behind another
        page.goto(server.url)
        page.wait_for_selector("body[data-typed]", timeout=20_000)
        page.fill("#search", "layer.9 neg")
        page.wait_for_selector("#hits li")


def test_a_run_shows_ranges_on_lines_and_marks_the_first_nan(open_page: Open) -> None:
    page = open_page(parsed("a = Neg (x) b = Abs (a) c = Neg (b) d = Sqrt (c) y = Exp (d)"))
    page.fill("#panel label input[type=text]", "3")
    page.click("#panel button:text-is('Run')")
    page.wait_for_selector("#panel .state .bad")
    assert page.evaluate("ingot.scene.faults.size") == 2
    page.click("#panel button:text-is('show the first')")
    page.wait_for_selector("#panel h1:text-is('Sqrt')")
    page.wait_for_selector("#panel .flowed table")
    assert "3 × 8" in panel(page)
    assert "NaN" in panel(page)


def test_the_panel_says_what_is_inferred_of_what_the_model_returns(open_page: Open) -> None:
    page = open_page(parsed("y = Flatten (x)"))
    page.wait_for_selector("#panel .port:has-text('y') .type:text-is('float32[n, 8]')")


def test_amounts_round_into_the_next_unit(chromium: Any) -> None:
    page = chromium.new_page()
    page.add_script_tag(content=(PAGE / "amounts.js").read_text("utf-8").replace("export ", ""))
    seconds = page.evaluate("[1234, 59.96, 0.9997, 0.0123, 0.0009996, 0.0000997, 0.000012].map(secondsText)")
    assert seconds == ["1234 s", "60.0 s", "1.00 s", "12.3 ms", "1.00 ms", "99.7 µs", "12 µs"]
    amounts = page.evaluate("[0, 480, 999.7, 1500, 999600, 1e6, 44.9e9, 9996e12].map((each) => scaledText(each, 'B'))")
    assert amounts == ["0 B", "480 B", "1.00 kB", "1.50 kB", "1.00 MB", "1.00 MB", "44.9 GB", "10000 TB"]
    decades = page.evaluate("[-2, -1, 0, 2, 3, 4, 8, 9, 12, 16].map(decadeText)")
    assert decades == ["0.01", "0.1", "1", "100", "1 k", "10 k", "100 M", "1 G", "1 T", "10000 T"]
    page.close()
