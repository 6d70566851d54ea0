// The outlines of boxes and of open groups.
// @ts-check

const DASHES = [4, 3];

/**
 * The path of a box with round corners.
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {number} r
 */
export function rounded(context, x, y, w, h, r) {
  context.beginPath();
  context.roundRect(x, y, w, h, Math.min(r, w / 2, h / 2));
}

/**
 * A dashed frame, as much of it as is seen: the browser makes every dash of what it is told to stroke, and the frame of a
 * large model has a hundred thousand.
 * @param {CanvasRenderingContext2D} context
 * @param {{left: number, top: number, right: number, bottom: number}} view
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {number} r
 */
export function dashed(context, view, x, y, w, h, r) {
  const right = x + w, bottom = y + h, radius = Math.min(r, w / 2, h / 2);
  context.beginPath();
  const [left, end] = seen(x + radius, right - radius, view.left, view.right);
  if (left < end) {
    for (const at of [y, bottom]) {
      if (at < view.top || at > view.bottom) continue;
      context.moveTo(left, at);
      context.lineTo(end, at);
    }
  }
  const [top, foot] = seen(y + radius, bottom - radius, view.top, view.bottom);
  if (top < foot) {
    for (const at of [x, right]) {
      if (at < view.left || at > view.right) continue;
      context.moveTo(at, top);
      context.lineTo(at, foot);
    }
  }
  for (const [cx, cy, turn] of [[x + radius, y + radius, 2], [right - radius, y + radius, 3], [right - radius, bottom - radius, 0], [x + radius, bottom - radius, 1]]) {
    const start = (turn * Math.PI) / 2;
    context.moveTo(cx + radius * Math.cos(start), cy + radius * Math.sin(start));
    context.arc(cx, cy, radius, start, start + Math.PI / 2);
  }
  context.setLineDash(DASHES);
  context.stroke();
  context.setLineDash([]);
}

/**
 * The part of a side between two limits, or a little more: it begins with a whole dash, so that dashes stay where they are
 * while the picture moves.
 * @param {number} from
 * @param {number} to
 * @param {number} low
 * @param {number} high
 */
function seen(from, to, low, high) {
  const period = DASHES[0] + DASHES[1];
  return [from + period * Math.floor(Math.max(0, low - from) / period), Math.min(to, high)];
}
