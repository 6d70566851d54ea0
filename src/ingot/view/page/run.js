// Running the model, and what flowed through it.
// @ts-check
import { announce, make } from "./elements.js";
import { heatMap, histogram } from "./pictures.js";
import { get, isSaved, post } from "./transport.js";

/** @typedef {import("./app.js").App} App */

/** @type {{seed: number, shapes: Record<string, string>, files: Record<number, string>}} */
const settings = { seed: 0, shapes: {}, files: {} };
/** @type {any} */
let last = null;
let isRunning = false;

/**
 * The part of the panel that runs the model.
 * @param {App} app
 * @returns {Node[]}
 */
export function runPanel(app) {
  if (isSaved) return [];
  const { summary } = app.scene.model;
  const state = make("div", { class: "state" }, ...outcome(app));
  const sizes = summary.sizes.map((/** @type {string} */ name) => {
    const input = make("input", { type: "text", size: 8, placeholder: "1", value: settings.shapes[name] || "", oninput: () => (settings.shapes[name] = input.value) });
    return make("label", {}, `${name} `, input);
  });
  const files = summary.inputs.map((/** @type {string[]} */ [name], /** @type {number} */ index) => {
    const label = make("span", { class: "faint" }, settings.files[index] || "random");
    const picker = make("input", { type: "file", hidden: true, onchange: () => picker.files[0] && send(index, picker.files[0], label) });
    return make("div", { class: "row" }, name, label, make("button", { onclick: () => picker.click() }, "file …"), make("button", { onclick: () => send(index, null, label) }, "random"), picker);
  });
  const seed = make("input", { type: "number", min: 0, value: settings.seed, oninput: () => (settings.seed = Number(seed.value) || 0) });
  const button = make("button", { class: "primary", onclick: () => run(app, state) }, "Run");
  const stop = make("button", { onclick: () => post("cancel", {}) }, "Stop");
  return [make("h2", {}, "Run it"), ...files, make("div", { class: "row" }, ...sizes, make("label", {}, "seed ", seed)), make("div", { class: "row" }, button, stop), state];
}

/**
 * @param {number} index
 * @param {File | null} file
 * @param {HTMLElement} label
 */
async function send(index, file, label) {
  try {
    const suffix = file ? file.name.split(".").pop() || "npy" : "npy";
    const answer = await post(`feed/${index}/${encodeURIComponent(suffix)}`, file ? await file.arrayBuffer() : new ArrayBuffer(0));
    settings.files[index] = file ? `${file.name}: ${answer.text}` : answer.text;
    label.textContent = settings.files[index];
  } catch (error) {
    announce(/** @type {Error} */ (error).message, true);
  }
}

/**
 * @param {App} app
 * @param {HTMLElement} state
 */
async function run(app, state) {
  if (isRunning) return;
  isRunning = true;
  state.replaceChildren(make("p", { class: "faint" }, "running, node by node …"));
  try {
    last = await post("run", { seed: settings.seed, shapes: settings.shapes });
    app.scene.ranges = new Map(Object.entries(last.ranges).map(([value, text]) => [Number(value), String(text)]));
    app.scene.faults = new Set(last.faults);
    state.replaceChildren(...outcome(app));
    app.redraw();
  } catch (error) {
    state.replaceChildren(make("p", { class: "bad" }, /** @type {Error} */ (error).message));
  } finally {
    isRunning = false;
  }
}

/**
 * @param {App} app
 * @returns {Node[]}
 */
function outcome(app) {
  if (!last) return [];
  const assumed = last.assumed.length ? `; ${last.assumed.join(", ")} assumed to be 1` : "";
  const parts = [make("p", { class: "faint" }, `ran in ${last.seconds.toPrecision(3)} s${assumed}. Lines show the least and greatest element.`)];
  if (last.faults.length) {
    const show = last.first === null ? null : make("button", { class: "link", onclick: () => app.reveal(last.first) }, "show the first");
    parts.push(make("p", { class: "bad" }, `NaN or infinity in ${last.faults.length} values, red in the picture. `, show));
  }
  return parts;
}

/**
 * The part of the panel that shows values of the last run.
 * @param {App} app
 * @param {number[]} values
 * @returns {Node[]}
 */
export function valuePanel(app, values) {
  const known = values.filter((value) => app.scene.ranges.has(value));
  if (!known.length) return [];
  return [make("h2", {}, "In the last run"), ...known.map((value) => {
    const place = make("div", { class: "port flowed" }, make("p", { class: "faint" }, "…"));
    get(`result/${value}`).then((found) => place.replaceChildren(...flowed(app.scene.names.get(value) || "", found))).catch((error) => place.replaceChildren(make("p", { class: "bad" }, error.message)));
    return place;
  })];
}

/**
 * @param {string} name
 * @param {any} found
 * @returns {Node[]}
 */
function flowed(name, found) {
  const parts = [make("b", {}, name), make("table", {}, ...found.facts.map((/** @type {string[]} */ row) => make("tr", {}, make("td", {}, row[0]), make("td", {}, row[1]))))];
  if (found.bars.length) parts.push(scores(found.bars));
  if (found.histogram && found.histogram.length) parts.push(histogram(found.histogram, found.low, found.high));
  if (found.picture) parts.push(heatMap(found.picture));
  return parts;
}

/** @param {[string, number][]} rows */
function scores(rows) {
  const low = Math.min(0, ...rows.map((row) => row[1])), most = Math.max(1e-9, ...rows.map((row) => row[1] - low));
  return make("div", { class: "bars" }, ...rows.flatMap(([place, amount]) => {
    const bar = make("i");
    bar.style.width = `${(100 * (amount - low)) / most}%`;
    return [make("span", {}, place), bar, make("span", { class: "faint" }, amount.toPrecision(4))];
  }));
}
