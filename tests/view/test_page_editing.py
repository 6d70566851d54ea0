"""Editing in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ingot
from ingot import Model
from ingot.ir.equality import differs
from view.conftest import Open
from view.samples import layers, parsed
from view.test_page import HOSTILE, click, panel, visible, wait_for

pytestmark = pytest.mark.usefixtures("chromium")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = parsed("a = Tanh (x) b = LeakyRelu <alpha = 0.1> (a) c = MatMul (b, b) y = Exp (c)")
    product = model.graph.nodes[2]
    product.replace_input(1, model.graph.add_initializer("w", np.ones((8, 4), np.float32)))
    ingot.save(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def edited(open_page: Open, path: Path, **options: Any) -> Any:
    """The page with editing switched on."""
    page = open_page(ingot.load(path), source=str(path), **options)
    page.click("#edit")
    page.wait_for_selector("#panel .edit")
    return page


def fill(page: Any, field: str, text: str) -> None:
    page.fill(f"#panel [data-field='{field}']", text)
    page.press(f"#panel [data-field='{field}']", "Enter")


def done(page: Any, count: int) -> None:
    page.wait_for_selector(f"#panel button:text-is('↶ Undo {count}')")


def test_a_node_is_edited_undone_redone_and_saved(open_page: Open, path: Path) -> None:
    page = edited(open_page, path)
    click(page, "LeakyRelu")
    page.wait_for_selector("#panel [data-field='attribute alpha']")
    fill(page, "attribute alpha", "0.5")
    done(page, 1)
    assert "LeakyRelu" in panel(page)
    fill(page, "operator", "Elu")
    done(page, 2)
    wait_for(page, "ingot.root.level.items.some((item) => item.title === 'Elu')")
    click(page, "Tanh")
    page.wait_for_selector("#panel [data-action='delete']")
    page.click("#panel [data-action='delete']")
    done(page, 3)
    assert "Tanh" not in visible(page)
    page.evaluate("ingot.canvas.focus()")
    page.keyboard.press("Control+z")
    done(page, 2)
    assert "Tanh" in visible(page)
    page.keyboard.press("Control+y")
    done(page, 3)
    target = path.with_name("other.onnx")
    page.wait_for_selector("#panel .python")
    page.fill("#panel [data-field='target']", str(target))
    page.click("#panel button:text-is('Save')")
    page.wait_for_selector("#panel .saved:text('wrote')")
    saved = ingot.load(target)
    assert [node.op_type for node in saved.graph] == ["Elu", "MatMul", "Exp"]
    program = page.inner_text("#panel .python")
    exec(program, {})
    assert differs(ingot.load(path.with_name("model_edited.onnx")), saved) is None


def test_an_edit_by_keyboard_leaves_the_focus_at_its_field(open_page: Open) -> None:
    page = open_page(parsed("a = Tanh (x) y = Exp (a)"))
    page.keyboard.press("m")
    click(page, "Tanh")
    page.focus("#panel [data-field='operator']")
    page.keyboard.press("Control+a")
    page.keyboard.type("Sigmoid")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel h1:text-is('Sigmoid')")
    wait_for(page, "document.activeElement.dataset.field === 'operator'")
    page.keyboard.press("Control+z")  # of the edit: nothing was typed since
    page.wait_for_selector("#panel h1:text-is('Tanh')")
    wait_for(page, "document.activeElement.dataset.field === 'operator'")
    page.keyboard.type("x")
    page.keyboard.press("Escape")
    assert page.input_value("#panel [data-field='operator']") == "Tanh"
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel h1:text-is('model.onnx')")


def test_nodes_are_inserted_and_values_renamed_rewired_and_returned(open_page: Open, path: Path) -> None:
    page = edited(open_page, path)
    click(page, "Tanh")
    page.wait_for_selector("#panel [data-field='insert']")
    page.fill("#panel [data-field='insert']", "Clip")
    page.click("#panel [data-action='insert']")
    done(page, 1)
    assert "Clip" in visible(page)
    fill(page, "value a", "renamed")
    done(page, 2)
    page.click("#panel [data-action='return']")
    done(page, 3)
    click(page, "MatMul")
    page.wait_for_selector("#panel [data-field='elements 1']")
    fill(page, "elements 1", "0.25")
    done(page, 4)
    fill(page, "input 0", "renamed")
    done(page, 5)
    page.keyboard.press("Escape")
    page.click("#panel button:text-is('Apply')")
    done(page, 6)


def test_what_is_refused_is_said_at_the_form(open_page: Open, path: Path) -> None:
    page = edited(open_page, path)
    click(page, "Tanh")
    page.wait_for_selector("#panel [data-field='input 0']")
    fill(page, "input 0", "y")
    page.wait_for_selector("#panel .refused:text('cycle')")
    assert "Tanh" in visible(page)


def test_what_an_edit_breaks_is_marked_at_its_place(open_page: Open, path: Path) -> None:
    page = edited(open_page, path)
    page.evaluate("ingot.select({kind: 'model'})")
    click(page, "x")
    page.wait_for_selector("#panel [data-field='type']")
    fill(page, "type", "int64[n, 8]")
    done(page, 1)
    wait_for(page, "ingot.drawing.marks.leaves.size > 0")
    marked = page.evaluate("[...ingot.drawing.marks.leaves.keys()]")
    items = page.evaluate("ingot.root.level.items.map((item) => [item.number, item.title])")
    titles = [title for number, title in items if number in marked]
    assert "Tanh" in titles


def test_a_group_is_cut_out_and_groups_stay_open(open_page: Open, tmp_path: Path) -> None:
    model: Model = layers(6, names="/encoder/layer.{}/")
    ingot.save(model, tmp_path / "model.onnx")
    page = edited(open_page, tmp_path / "model.onnx")
    page.evaluate("ingot.openAll()")
    wait_for(page, "!ingot.motion && ingot.root.inner.size > 0")
    click(page, "Sigmoid")
    page.wait_for_selector("#panel [data-field='name']")
    fill(page, "name", "/encoder/layer.0/Sigmoid_other")
    done(page, 1)
    assert "Sigmoid" in visible(page)
    group = page.evaluate("ingot.root.level.items.findIndex((item) => item.kind === 'group')")
    page.evaluate("(item) => ingot.select({kind: 'item', instance: ingot.root, item})", group)
    page.wait_for_selector("#panel [data-action='cut']")
    page.click("#panel [data-action='cut']")
    done(page, 2)


def test_names_with_markup_are_edited_as_text(open_page: Open, path: Path) -> None:
    page = edited(open_page, path)
    click(page, "Tanh")
    page.wait_for_selector("#panel [data-field='value a']")
    fill(page, "value a", HOSTILE)
    done(page, 1)
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel .python")
    assert page.evaluate("document.querySelectorAll('#panel img, #panel script').length") == 0
    assert "onerror" in page.inner_text("#panel .python")
