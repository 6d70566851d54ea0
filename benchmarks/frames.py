"""How smoothly the page moves: frames a second of 10,000 open nodes while the picture is moved, at several scales.

    python -m benchmarks.frames

It needs playwright and Chromium, which draws without a graphics processor here. Numbers are medians of rounds, in each
of which every scale has its turn. Milliseconds are those of the script of the page for a frame; the rest of a frame is
the browser's, as is all of one that only fills the canvas: that row is the most that any page has on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.view_pictures import ten_thousand
from ingot.view.answers import Answers
from ingot.view.png import browser
from ingot.view.server import Server

_MOVED = """async (scale) => {
  const count = 60, times = [], { camera, drawing, root, width, height, ratio } = ingot;
  if (scale) {
    camera.scale = scale;
    camera.x = root.now.width / 2 - width / 2 / scale;
  }
  await new Promise(requestAnimationFrame);
  const begin = performance.now();
  for (let i = 0; i < count; i++) {
    const before = performance.now();
    if (scale) {
      camera.y = (root.now.height * i) / count;
      drawing.frame(root, camera, width, height, ratio);
    } else {
      drawing.context.fillStyle = i % 2 ? "#fff" : "#eee";
      drawing.context.fillRect(0, 0, width * ratio, height * ratio);
    }
    times.push(performance.now() - before);
    await new Promise(requestAnimationFrame);
  }
  times.sort((a, b) => a - b);
  return [(1000 * count) / (performance.now() - begin), times[count / 2], scale ? drawing.drawn : 0];
}"""
"""Of 60 frames at a scale: how many a second, milliseconds of the script, boxes. A scale of 0 only fills the canvas."""

_SCALES = (0.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02)
_ROUNDS = 3


def table() -> str:
    """Scales, and what was measured at each."""
    return "| scale | frames a second | script, ms a frame | boxes in the last |\n|---|---|---|---|\n" + "".join(
        _rows()
    )


def _rows() -> Iterator[str]:
    from playwright.sync_api import sync_playwright

    answers = Answers(ten_thousand(differing=True), "deep.onnx")
    with Server(lambda: answers) as server, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page.goto(server.url)
        page.wait_for_selector("body[data-typed]", timeout=120_000)
        page.evaluate("ingot.openAll()")
        page.wait_for_timeout(1000)
        rounds = [[page.evaluate(_MOVED, scale) for scale in _SCALES] for _ in range(_ROUNDS)]
        chromium.close()
    for number, scale in enumerate(_SCALES):
        frames, script, drawn = (median(each[number][part] for each in rounds) for part in range(3))
        yield f"| {scale or 'a canvas filled'} | {frames:.0f} | {script:.2f} | {drawn:.0f} |\n"


if __name__ == "__main__":
    print(table())
