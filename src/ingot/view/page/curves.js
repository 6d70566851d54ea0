// The curves of lines: down through rows, and from row to row in the gaps between them. As `curves.py`.
// @ts-check

/** @typedef {import("./reflow.js").Instance} Instance */

/**
 * The corners of a line on its way to one of its targets, x and y in turns, in the coordinates of the instance.
 * @param {Instance} instance
 * @param {number} number  of the track
 * @param {number} which  of its targets
 * @returns {number[]}
 */
export function corners(instance, number, which) {
  const { level, now } = instance;
  const track = level.tracks[number], target = track.targets[which];
  const rank = level.ranks[track.source], end = level.ranks[target];
  const start = meeting(instance, track.source, track.values, track.leaves, true);
  const points = [start[0], start[1]];
  let x = start[0];
  const bends = now.bends[number];
  for (let i = 0; i < end - rank - 1; i++) {
    points.push(x, now.rowTops[rank + i] + now.rowHeights[rank + i], bends[i], now.rowTops[rank + i + 1]);
    x = bends[i];
  }
  const stop = meeting(instance, target, track.values, track.enters[which], false);
  points.push(x, now.rowTops[end - 1] + now.rowHeights[end - 1], stop[0], now.rowTops[end], stop[0], stop[1]);
  return points;
}

/**
 * Add a line to a path.
 * @param {CanvasRenderingContext2D | Path2D} path
 * @param {number[]} points
 * @param {number} ox
 * @param {number} oy
 */
export function trace(path, points, ox, oy) {
  let x = points[0] + ox, y = points[1] + oy;
  path.moveTo(x, y);
  for (let i = 2; i < points.length; i += 2) {
    const toX = points[i] + ox, toY = points[i + 1] + oy;
    if (i % 4 === 2 || Math.abs(toX - x) < 0.5) path.lineTo(toX, toY);
    else {
      const middle = (y + toY) / 2;
      path.bezierCurveTo(x, middle, toX, middle, toX, toY);
    }
    x = toX;
    y = toY;
  }
}

/**
 * How far a point is from a line, about: the line is taken as straight between its corners.
 * @param {number[]} points
 * @param {number} x
 * @param {number} y
 */
export function distance(points, x, y) {
  let nearest = Infinity;
  for (let i = 2; i < points.length; i += 2) {
    const ax = points[i - 2], ay = points[i - 1], dx = points[i] - ax, dy = points[i + 1] - ay;
    const length = dx * dx + dy * dy;
    const t = length ? Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
    nearest = Math.min(nearest, Math.hypot(x - ax - t * dx, y - ay - t * dy));
  }
  return nearest;
}

/**
 * Where a line leaves or enters an item: of an open one, at the port of its value.
 * @param {Instance} instance
 * @param {number} item
 * @param {number[]} values
 * @param {number} offset
 * @param {boolean} isSource
 * @returns {[number, number]}
 */
function meeting(instance, item, values, offset, isSource) {
  const { now } = instance;
  const top = now.tops[item] + (isSource ? now.heights[item] : 0);
  const open = instance.inner.get(item);
  if (open) {
    const kind = isSource ? "port out" : "port in";
    const port = open.level.items.findIndex((each) => each.kind === kind && each.values.includes(values[0]));
    if (port >= 0) return [now.lefts[item] + open.now.lefts[port], top];
    offset = 0;
  }
  return [now.lefts[item] + now.widths[item] / 2 + offset, top];
}
