"""How smoothly the page moves: frames a second of 10,000 open nodes while the picture is moved, at several scales.

    python -m benchmarks.frames

It needs playwright and Chromium, which draws without a graphics processor here. Milliseconds are those of the script of
the page for a frame, the median; the rest of a frame is the browser's.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.view_pictures import ten_thousand
from ingot.view.answers import Answers
from ingot.view.png import browser
from ingot.view.server import Server

_MOVED = """async (scale) => {
  const times = [];
  ingot.camera.scale = scale;
  ingot.camera.x = ingot.root.now.width / 2 - ingot.width / 2 / scale;
  const begin = performance.now();
  for (let i = 0; i < 60; i++) {
    ingot.camera.y = (ingot.root.now.height * i) / 60;
    const before = performance.now();
    ingot.drawing.frame(ingot.root, ingot.camera, ingot.width, ingot.height, ingot.ratio);
    times.push(performance.now() - before);
    await new Promise(requestAnimationFrame);
  }
  times.sort((a, b) => a - b);
  return [60000 / (performance.now() - begin), times[30], ingot.drawing.drawn];
}"""


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
        for scale in (1.0, 0.5, 0.2, 0.1, 0.05, 0.02):
            frames, script, drawn = page.evaluate(_MOVED, scale)
            yield f"| {scale} | {frames:.0f} | {script:.2f} | {drawn} |\n"
        chromium.close()


if __name__ == "__main__":
    print(table())
