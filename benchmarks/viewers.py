"""How soon a model is seen: `ingot view` beside netron, in one browser, in turns.

    python -m benchmarks.viewers model.onnx ...

It needs playwright, Chromium and, for the peer, netron. A first picture is there when the page has drawn nodes. Times
count from the command, with the start of Python, and from the request of the page: both read the file after that.
Memory is that of ingot's server when the picture is there. The best of three rounds is shown.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

from ingot.format.load import load
from ingot.view.png import browser

_SECONDS = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-netron", action="store_true", help="measure ingot alone")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox", "--disable-gpu"])
        print("| model | nodes | netron, s | ingot, s | ratio | netron, page alone | ingot | ratio | memory, MiB |")
        print("|---|---|---|---|---|---|---|---|---|")
        for path in options.models:
            peers: list[tuple[float, float]] = []
            own: list[tuple[float, float, float]] = []
            for _ in range(options.rounds):
                own.append(_ingot(chromium, path))
                if not options.no_netron:
                    peers.append(_netron(chromium, path))
            seen, whole, memory = (min(column) for column in zip(*own, strict=True))
            peer_seen, peer_whole = (min(column) for column in zip(*(peers or [(nan, nan)]), strict=True))
            nodes = sum(1 for _ in load(path, external="defer").nodes())
            from_command = f"{peer_whole:.2f} | {whole:.2f} | {whole / peer_whole:.2f}"
            alone = f"{peer_seen:.2f} | {seen:.2f} | {seen / peer_seen:.2f}"
            print(f"| {path.name} | {nodes:,} | {from_command} | {alone} | {memory:.0f} |", flush=True)
        chromium.close()


def _ingot(chromium: Any, path: Path) -> tuple[float, float, float]:
    """Seconds from the request and from the command to the picture, and the memory of the server then."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "ingot", "view", str(path), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            seen = _seen(
                chromium, url, lambda page: page.wait_for_selector("body[data-drawn]", timeout=1000 * _SECONDS)
            )
            whole = time.perf_counter() - begin
            status = Path(f"/proc/{server.pid}/status").read_text()
            memory = re.search(r"VmRSS:\s+(\d+)", status)
            return seen, whole, 0.0 if memory is None else int(memory[1]) / 1024
        finally:
            server.terminate()


def _netron(chromium: Any, path: Path) -> tuple[float, float]:
    """Seconds from the request and from the command to the picture."""
    begin = time.perf_counter()
    script = "import netron, sys, time; netron.serve(sys.argv[1], None, address=('127.0.0.1', 0)); time.sleep(600)"
    command = [sys.executable, "-u", "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            while (address := re.search(r"http://\S+?:\d+", server.stdout.readline())) is None:
                pass
            seen = _seen(
                chromium,
                address[0],
                lambda page: page.wait_for_selector("g.node", state="attached", timeout=1000 * _SECONDS),
            )
            return seen, time.perf_counter() - begin
        finally:
            server.terminate()


def _seen(chromium: Any, url: str, drawn: Callable[[Any], object]) -> float:
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    try:
        context.add_cookies([{"name": "consent", "value": "1", "url": url}])
        # netron replaces eval, which playwright needs; a property that cannot be set stays as it is
        context.add_init_script(
            "const own = window.eval; Object.defineProperty(window, 'eval', { get: () => own, set: () => {} });"
        )
        context.route("**/*", lambda route: route.continue_() if "127.0.0.1" in route.request.url else route.abort())
        page = context.new_page()
        begin = time.perf_counter()
        page.goto(url)
        drawn(page)
        return time.perf_counter() - begin
    finally:
        context.close()


if __name__ == "__main__":
    main()
