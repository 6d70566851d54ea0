// A roofline: the kernels of a model against the limits of this machine, which were measured.
// @ts-check
import { decadeText, scaledText, secondsText } from "./amounts.js";
import { make } from "./elements.js";
import { showStep, stepping } from "./steps.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./profile.js").Profile} Profile
 */

const BOX = { left: 62, right: 16, top: 12, bottom: 30, height: 210 };

/**
 * @param {App} app
 * @param {Profile} profile
 */
export function roofline(app, profile) {
  const dots = profile.steps.filter((step) => step.kernel && step.cost[0] > 0 && step.cost[1] > 0 && step.cost[2] > 0)
    .map((step) => ({ step, x: Math.log10(step.cost[2] / step.cost[1]), y: Math.log10(step.cost[2] / step.cost[0]), r: 0 }));
  if (!dots.length) return make("p", { class: "faint" }, "No kernel of this model computes: there is nothing to compare with the limits.");
  const longest = Math.max(...dots.map((dot) => dot.step.cost[0]));
  for (const dot of dots) dot.r = 3 + 11 * Math.sqrt(dot.step.cost[0] / longest);
  const [operations, memory, cache] = profile.limits;
  const low = Math.floor(Math.min(-1, ...dots.map((dot) => dot.x))), high = Math.ceil(Math.max(2.2, Math.log10(operations / memory) + 0.6, ...dots.map((dot) => dot.x)));
  const top = Math.log10(operations) + 0.25, bottom = Math.min(...dots.map((dot) => dot.y), Math.log10(memory) + low) - 0.2;
  const canvas = make("canvas", { class: "roofline" }), note = make("p", { class: "faint", role: "status" }, `Measured: ${scaledText(operations, "FLOP/s")} of float32, ${scaledText(memory, "B/s")} from memory, ${scaledText(cache, "B/s")} from the second cache. Larger dots take longer. Kernels of other types than float32 may lie above.`);
  const about = note.textContent;
  canvas.style.height = `${BOX.height}px`;
  let hovered = -1;
  const scales = () => {
    const width = canvas.clientWidth || 800;
    return { width, x: (/** @type {number} */ v) => BOX.left + ((v - low) / (high - low)) * (width - BOX.left - BOX.right), y: (/** @type {number} */ v) => BOX.top + ((top - v) / (top - bottom)) * (BOX.height - BOX.top - BOX.bottom) };
  };
  const draw = () => {
    const { width, x, y } = scales(), ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    canvas.width = width * ratio;
    canvas.height = BOX.height * ratio;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    const faint = style.getPropertyValue("--faint");
    context.strokeStyle = style.getPropertyValue("--border");
    context.fillStyle = faint;
    context.textAlign = "center";
    for (let decade = low; decade <= high; decade++) line(context, [[x(decade), BOX.top], [x(decade), BOX.height - BOX.bottom]], decadeText(decade), x(decade), BOX.height - 14);
    context.textAlign = "left";
    for (let decade = Math.ceil(bottom); decade <= top; decade++) line(context, [[BOX.left, y(decade)], [width - BOX.right, y(decade)]], decadeText(decade), 4, y(decade) + 4);
    context.textAlign = "right";
    context.fillText("operations a byte", width - BOX.right, BOX.height - 2);
    context.textAlign = "left";
    context.fillText("operations a second", BOX.left + 6, BOX.top + 8);
    context.save();
    context.beginPath();
    context.rect(BOX.left, BOX.top, width - BOX.left - BOX.right, BOX.height - BOX.top - BOX.bottom);
    context.clip();
    context.lineWidth = 1.6;
    for (const [bandwidth, colour, dashes, name] of /** @type {[number, string, number[], string][]} */ ([[cache, faint, [5, 4], "cache"], [memory, style.getPropertyValue("--accent"), [], "memory"]])) {
      const knee = Math.log10(operations / bandwidth);
      context.strokeStyle = colour;
      context.setLineDash(dashes);
      context.beginPath();
      context.moveTo(x(low), y(Math.log10(bandwidth) + low));
      context.lineTo(x(knee), y(Math.log10(operations)));
      context.lineTo(x(high), y(Math.log10(operations)));
      context.stroke();
      context.setLineDash([]);
      const at = Math.max(low + 0.15, knee - 1.2);
      context.save();
      context.translate(x(at), y(Math.log10(bandwidth) + at));
      context.rotate(Math.atan2(y(1) - y(0), x(1) - x(0)));
      context.fillStyle = colour;
      context.fillText(name, 0, -5);
      context.restore();
    }
    dots.forEach((dot, i) => {
      context.beginPath();
      context.arc(x(dot.x), y(dot.y), dot.r, 0, 7);
      context.globalAlpha = i === hovered ? 1 : 0.62;
      context.fillStyle = i === hovered ? style.getPropertyValue("--accent") : style.getPropertyValue("--dot");
      context.fill();
      context.globalAlpha = 1;
      context.lineWidth = 1;
      context.strokeStyle = style.getPropertyValue("--surface");
      context.stroke();
    });
    context.restore();
  };
  const nearest = (/** @type {MouseEvent} */ event) => {
    const { x, y } = scales();
    let best = -1, least = 100;
    dots.forEach((dot, i) => {
      const away = Math.hypot(x(dot.x) - event.offsetX, y(dot.y) - event.offsetY) - dot.r;
      if (away < 4 && away < least) [best, least] = [i, away];
    });
    return best;
  };
  const hover = (/** @type {number} */ next) => {
    if (next === hovered) return;
    hovered = next;
    const dot = dots[hovered];
    note.textContent = dot ? `${dot.step.kernel}  ${dot.step.title}: ${secondsText(dot.step.cost[0])}, ${scaledText(10 ** dot.y, "op/s")}, ${(10 ** dot.x).toPrecision(3)} operations a byte` : about;
    draw();
  };
  const go = (/** @type {number} */ which) => {
    if (dots[which]) showStep(app, dots[which].step.leaves);
  };
  canvas.onmousemove = (/** @type {MouseEvent} */ event) => hover(nearest(event));
  canvas.onclick = (/** @type {MouseEvent} */ event) => go(nearest(event));
  stepping(canvas, "Kernels below the limits of this machine", dots.length, (move) => hover(move(hovered)), () => go(hovered));
  new ResizeObserver(draw).observe(canvas);
  return make("div", {}, canvas, note);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number][]} points
 * @param {string} text
 * @param {number} x
 * @param {number} y
 */
function line(context, points, text, x, y) {
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(...points[0]);
  context.lineTo(...points[1]);
  context.stroke();
  context.fillText(text, x, y);
}
