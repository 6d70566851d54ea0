// One run as a timeline: when each thread worked on which kernel.
// @ts-check
import { secondsText } from "./amounts.js";
import { make } from "./elements.js";
import { showStep, stepping } from "./steps.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./profile.js").Profile} Profile
 */

const LEFT = 66, LANE = 34, TOP = 8;

/**
 * @param {App} app
 * @param {Profile} profile
 */
export function timeline(app, profile) {
  const pieces = profile.timeline;
  if (!pieces.length) return make("p", { class: "faint" }, "There is no timeline of this run: no kernel ran by itself.");
  const lanes = Math.max(...pieces.map((piece) => piece[1])) + 1, end = Math.max(...pieces.map((piece) => piece[2] + piece[3]));
  const height = TOP + lanes * LANE + 24, canvas = make("canvas", { class: "timeline" }), note = make("p", { class: "faint", role: "status" }, HINT);
  const families = app.scene.model.families, shade = app.drawing.theme.is_dark ? "dark" : "light";
  const colours = profile.steps.map((step) => families[step.family]?.[shade] || (shade === "dark" ? "#4a5462" : "#c9d0d8"));
  let from = 0, to = end, hovered = -1;
  const place = (/** @type {MouseEvent} */ event) => {
    const width = canvas.clientWidth - LEFT, time = from + ((event.offsetX - LEFT) / width) * (to - from), lane = Math.floor((event.offsetY - TOP) / LANE);
    const slack = ((to - from) / width) * 2;
    return pieces.findIndex((piece) => piece[1] === lane && time >= piece[2] - slack && time <= piece[2] + piece[3] + slack);
  };
  const draw = () => {
    const width = canvas.clientWidth || 800, ratio = devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    const x = (/** @type {number} */ time) => LEFT + ((time - from) / (to - from)) * (width - LEFT - 8);
    for (let lane = 0; lane < lanes; lane++) {
      context.fillStyle = style.getPropertyValue("--code");
      context.fillRect(LEFT, TOP + lane * LANE, width - LEFT - 8, LANE - 6);
      context.fillStyle = style.getPropertyValue("--faint");
      context.fillText(`thread ${lane + 1}`, 6, TOP + lane * LANE + 18);
    }
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT - 8, height);
    context.clip();
    pieces.forEach(([step, lane, begin, seconds], i) => {
      const left = x(begin), right = x(begin + seconds);
      if (right < LEFT || left > width) return;
      context.fillStyle = colours[step];
      const wide = Math.max(0.6, right - left - (right - left > 4 ? 0.6 : 0));
      context.fillRect(left, TOP + lane * LANE, wide, LANE - 6);
      if (i === hovered || profile.steps[step] === profile.steps[pieces[hovered]?.[0] ?? -1]) {
        context.strokeStyle = style.getPropertyValue("--accent");
        context.lineWidth = 1.5;
        context.strokeRect(left, TOP + lane * LANE + 0.5, wide, LANE - 7);
      }
      if (wide > 40) {
        context.save();
        context.beginPath();
        context.rect(left, TOP + lane * LANE, wide - 3, LANE);
        context.clip();
        context.fillStyle = style.getPropertyValue("--text");
        context.fillText(profile.steps[step].title, left + 4, TOP + lane * LANE + 18);
        context.restore();
      }
    });
    context.restore();
    context.fillStyle = style.getPropertyValue("--faint");
    for (let i = 0; i <= 5; i++) {
      const time = from + ((to - from) * i) / 5;
      context.textAlign = i === 5 ? "right" : i ? "center" : "left";
      context.fillText(time ? secondsText(time) : "0", x(time), height - 8);
    }
  };
  canvas.style.height = `${height}px`;
  const hover = (/** @type {number} */ next) => {
    if (next === hovered) return;
    hovered = next;
    const piece = pieces[hovered];
    note.textContent = piece ? `${profile.steps[piece[0]].kernel}  ${profile.steps[piece[0]].title}: ${secondsText(piece[3])}, from ${secondsText(piece[2])} on` : HINT;
    draw();
  };
  const go = (/** @type {number} */ which) => {
    if (pieces[which]) showStep(app, profile.steps[pieces[which][0]].leaves);
  };
  canvas.onmousemove = (/** @type {MouseEvent} */ event) => hover(place(event));
  canvas.onclick = (/** @type {MouseEvent} */ event) => go(place(event));
  stepping(canvas, "One run by thread", pieces.length, (move) => hover(move(hovered)), () => go(hovered));
  canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
    event.preventDefault();
    const width = canvas.clientWidth - LEFT, at = from + ((event.offsetX - LEFT) / width) * (to - from), factor = event.deltaY > 0 ? 1.25 : 0.8;
    const span = Math.min(end, Math.max(end / 1e4, (to - from) * factor));
    from = Math.max(0, Math.min(end - span, at - ((at - from) / (to - from)) * span));
    to = from + span;
    draw();
  }, { passive: false });
  new ResizeObserver(draw).observe(canvas);
  return make("div", {}, canvas, note);
}

const HINT = "Pieces of kernels, by the colours of their operators; noting them takes some microseconds each. The wheel zooms, a click leads to the nodes.";
