// The small map in the corner: where in the whole picture one looks.
// @ts-check
import { byId } from "./elements.js";
import { markOf } from "./marks.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./reflow.js").Instance} Instance
 */

/** @param {App} app */
export function mapping(app) {
  const canvas = byId("map"), context = canvas.getContext("2d");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * ratio;
  canvas.height = canvas.clientHeight * ratio;
  let scale = 1, ox = 0, oy = 0;

  const boxes = (/** @type {Instance} */ instance, /** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ depth) => {
    const { now, level } = instance, theme = app.drawing.theme;
    level.items.forEach((item, i) => {
      if (!item.width) return;
      const left = x + now.lefts[i], top = y + now.tops[i], open = instance.inner.get(i);
      const mark = open ? null : markOf(app.drawing.marks, item);
      context.fillStyle = mark || (open ? theme.frames[(depth + 1) % 2] : item.kind === "node" ? app.scene.model.families[item.family][theme.is_dark ? "dark" : "light"] : theme.border);
      context.fillRect(ox + left * scale, oy + top * scale, Math.max(1, now.widths[i] * scale), Math.max(1, now.heights[i] * scale));
      if (open && depth < 3 && now.widths[i] * scale > 3) boxes(open, left, top, depth + 1);
    });
  };
  app.onFrame.push(() => {
    const { width, height } = app.root.now, camera = app.camera;
    scale = Math.min(canvas.width / (width + 1), canvas.height / (height + 1)) * 0.92;
    ox = (canvas.width - width * scale) / 2;
    oy = (canvas.height - height * scale) / 2;
    context.clearRect(0, 0, canvas.width, canvas.height);
    boxes(app.root, 0, 0, 0);
    context.strokeStyle = "#1f6feb";
    context.lineWidth = 1.5 * ratio;
    const w = app.width / camera.scale, h = app.height / camera.scale;
    const left = Math.max(1, ox + camera.x * scale), top = Math.max(1, oy + camera.y * scale);
    const right = Math.min(canvas.width - 1, ox + (camera.x + w) * scale), bottom = Math.min(canvas.height - 1, oy + (camera.y + h) * scale);
    if (right > left && bottom > top) context.strokeRect(left, top, right - left, bottom - top);
  });
  const go = (/** @type {PointerEvent} */ event) => {
    const x = (event.offsetX * ratio - ox) / scale, y = (event.offsetY * ratio - oy) / scale;
    app.move({ scale: app.camera.scale, x: x - app.width / 2 / app.camera.scale, y: y - app.height / 2 / app.camera.scale }, false);
  };
  canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    canvas.setPointerCapture(event.pointerId);
    go(event);
  });
  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => event.buttons && go(event));
}
