"""Layouts of whole graphs, without groups: ingot's beside dagre's, how long they take and how often lines cross.

    python -m benchmarks.layouts FOLDER model.onnx ...

FOLDER is where `npm install @dagrejs/dagre` was run; it needs Node. Boxes have the sizes that the page gives them. Both
pictures are counted in the same way: segments of lines between rows, of different values, that cross. ingot's time is
that of one processor; dagre's that of its own clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ingot.format.load import load
from ingot.view.boxes import leaf_label
from ingot.view.flow import flow_of
from ingot.view.layout import Box, Layout, lay_out
from ingot.view.ranks import Line

_SCRIPT = """
const dagre = require("@dagrejs/dagre");
const { boxes, edges } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const graph = new dagre.graphlib.Graph({ multigraph: true });
graph.setGraph({ nodesep: 22, ranksep: 30 });
graph.setDefaultEdgeLabel(() => ({}));
boxes.forEach(([width, height], i) => graph.setNode(String(i), { width, height }));
edges.forEach(([a, b], i) => graph.setEdge(String(a), String(b), {}, String(i)));
const begin = performance.now();
dagre.layout(graph);
const seconds = (performance.now() - begin) / 1000;
const lines = graph.edges().map((e) => [Number(e.v), graph.edge(e).points.map((p) => [p.x, p.y])]);
console.log(JSON.stringify({ seconds, width: graph.graph().width, lines }));
"""
_ROW = 60.0
Points = list[tuple[float, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="+", type=Path)
    options = parser.parse_args()
    print("| model | boxes | lines | dagre, s | ingot, s | crossings of dagre | of ingot | width of dagre | of ingot |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in options.models:
        flow = flow_of(load(path, external="defer").graph)
        boxes = [leaf_label(leaf).box for leaf in flow.leaves]
        edges = list(zip(flow.sources, flow.targets, flow.values, strict=True))
        edges = [edge for edge in edges if edge[0] < edge[1]]
        begin = time.process_time()
        layout = lay_out(boxes, _lines(edges))
        seconds = time.process_time() - begin
        peer = _dagre(options.folder, boxes, edges)
        ours, theirs = crossings(_drawn(layout)), crossings([(s, [(x, y) for x, y in p]) for s, p in peer["lines"]])
        width = max(layout.centres) - min(layout.centres)
        counts = f"{len(boxes):,} | {len(edges):,} | {peer['seconds']:.2f} | {seconds:.2f} | {theirs:,} | {ours:,}"
        print(f"| {path.name} | {counts} | {peer['width']:,.0f} | {width:,.0f} |", flush=True)


def _lines(edges: list[tuple[int, int, int]]) -> list[Line]:
    """A line for each value, to all of its readers."""
    targets: dict[tuple[int, int], list[int]] = {}
    for source, target, value in edges:
        targets.setdefault((source, value), []).append(target)
    return [Line((value,), source, tuple(readers)) for (source, value), readers in targets.items()]


def _dagre(folder: Path, boxes: list[Box], edges: list[tuple[int, int, int]]) -> Any:
    pairs = sorted({(source, target) for source, target, _ in edges})
    content = json.dumps({"boxes": [(box.width, box.height) for box in boxes], "edges": pairs})
    ended = subprocess.run(
        ["node", "-e", _SCRIPT], cwd=folder, input=content, capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout)


def _drawn(layout: Layout) -> list[tuple[int, Points]]:
    """The lines of a layout as corners, one for each reader; what readers share is the same segments."""
    lines = []
    for track in layout.tracks:
        source = track.line.source
        start = (layout.centres[source] + track.leaves, layout.ranks[source] * _ROW)
        for target, enters in zip(track.line.targets, track.enters, strict=True):
            rank = layout.ranks[target]
            bends = [(x, row * _ROW) for row, x in track.bends if row < rank]
            lines.append((source, [start, *bends, (layout.centres[target] + enters, rank * _ROW)]))
    return lines


def crossings(lines: list[tuple[int, Points]]) -> int:
    """How many pairs of segments of lines of different sources cross; a segment that two lines share counts once."""
    segments = {(s, a, b) for s, points in lines for a, b in pairwise(points) if a != b}
    if not segments:
        return 0
    table = np.array([(s, *a, *b) for s, a, b in segments])
    table = table[np.argsort(np.minimum(table[:, 2], table[:, 4]), kind="stable")]
    source, ax, ay, bx, by = table.T
    low, high = np.minimum(ay, by), np.maximum(ay, by)
    total = 0
    for i in range(len(table)):
        end = int(np.searchsorted(low, high[i]))
        j = slice(i + 1, end)
        if end <= i + 1:
            continue
        d1 = (bx[i] - ax[i]) * (ay[j] - ay[i]) - (by[i] - ay[i]) * (ax[j] - ax[i])
        d2 = (bx[i] - ax[i]) * (by[j] - ay[i]) - (by[i] - ay[i]) * (bx[j] - ax[i])
        d3 = (bx[j] - ax[j]) * (ay[i] - ay[j]) - (by[j] - ay[j]) * (ax[i] - ax[j])
        d4 = (bx[j] - ax[j]) * (by[i] - ay[j]) - (by[j] - ay[j]) * (bx[i] - ax[j])
        total += int(((d1 * d2 < 0) & (d3 * d4 < 0) & (source[j] != source[i])).sum())
    return total


if __name__ == "__main__":
    main()
