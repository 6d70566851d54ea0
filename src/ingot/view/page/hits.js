// What is at a point of the canvas: a box, the heading of an open group, or a line.
// @ts-check
import { corners, distance } from "./curves.js";
import { HEADER } from "./reflow.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./draw.js").Spot} Spot
 * @typedef {import("./reflow.js").Instance} Instance
 */

/**
 * What is at a point of the canvas: the innermost item, and whether it is the heading of an open one; or a value.
 * @param {App} app
 * @param {number} canvasX
 * @param {number} canvasY
 * @returns {{spot: Spot, isHeading: boolean, value: number | null, within: number}}
 */
export function hit(app, canvasX, canvasY) {
  let x = app.camera.x + canvasX / app.camera.scale, y = app.camera.y + canvasY / app.camera.scale;
  let instance = app.root;
  /** @type {Spot} */
  let frame = null;
  for (;;) {
    const { now, level } = instance;
    let next = null;
    for (let i = 0; i < level.items.length; i++) {
      const left = now.lefts[i], top = now.tops[i];
      if (!level.items[i].width || x < left || y < top || x > left + now.widths[i] || y > top + now.heights[i]) continue;
      const open = instance.inner.get(i);
      if (!open) return { spot: { instance, item: i }, isHeading: false, value: null, within: x - left };
      if (y < top + HEADER) return { spot: { instance, item: i }, isHeading: true, value: null, within: x - left };
      frame = { instance, item: i };
      next = open;
      x -= left;
      y -= top;
      break;
    }
    if (!next) break;
    instance = next;
  }
  const value = lineAt(app, instance, x, y);
  return { spot: value === null ? frame : null, isHeading: false, value, within: 0 };
}

/**
 * @param {App} app
 * @param {Instance} instance
 * @param {number} x
 * @param {number} y
 */
function lineAt(app, instance, x, y) {
  let best = 6 / app.camera.scale, value = null;
  instance.level.tracks.forEach((track, number) => {
    if (track.stub) return;
    for (let which = 0; which < track.targets.length; which++) {
      const away = distance(corners(instance, number, which), x, y);
      if (away < best) [best, value] = [away, track.values[0]];
    }
  });
  return value;
}
