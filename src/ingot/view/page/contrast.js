// Runs compared: with another input, with compiled kernels, or in another precision; nodes coloured by how far they lie apart.
// @ts-check
import { errorText } from "./amounts.js";
import { addTab, openDesk, refreshDesk } from "./desk.js";
import { make } from "./elements.js";
import { setMeasure } from "./measures.js";
import { changedRuns, runs } from "./runs.js";
import { isSaved } from "./transport.js";
import { Work, ended, stopButton } from "./work.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {{what: string, nodes: Record<string, number>, levels: Record<string, number>, compared: number, equal: number, outputs: [string, number][],
 *   worst: {error: number, largest: number, leaf: number, value: number, title: string}[]}} Differences
 */

const OTHERS = [["cpu", "compiled kernels"], ["bf16", "compiled, products in bf16"], ["fp16", "compiled, weights in fp16"], ["int8-dynamic", "compiled, products in int8"]];
let other = "cpu";
/** @type {Differences | null} */
let apart = null;
/** @type {Work | null} */
let comparison = null;
let trouble = "";

/** @param {App} app */
export function contrasting(app) {
  if (isSaved) return;
  addTab({ name: "differences", title: "Differences", show: () => differences(app) });
  app.onReplace.push(() => {
    apart = null;
    comparison?.stop();
  });
  runs.onChange.push(() => {
    if (runs.last?.differences && !runs.isRunning) {
      const found = runs.last.differences;
      if (found !== apart) showDifferences(app, found);
    } else refreshDesk("differences");
  });
}

/**
 * @param {App} app
 * @param {Differences} found
 */
function showDifferences(app, found) {
  apart = found;
  const amounts = (/** @type {Record<string, number>} */ errors) => new Map(Object.entries(errors).map(([number, error]) => [Number(number), error]));
  setMeasure(app, { title: `difference, ${found.what}`, low: "equal", high: "100 % of the largest element", kind: "error", leaves: amounts(found.nodes), levels: amounts(found.levels), text: errorText });
  openDesk(app, "differences");
}

/**
 * Show what the last run was compared with before the page was loaded again; a comparison that is under way is waited for.
 * @param {App} app
 * @param {{works: string[], differences: Differences | null}} state  of this tab
 */
export async function resumeComparison(app, state) {
  if (state.works.includes("compare") && !comparison) {
    const work = (comparison = new Work(app.scene, "compare"));
    openDesk(app, "differences");
    const now = await ended(work);
    comparison = null;
    if (!work.isStopped && now.differences) showDifferences(app, now.differences);
  } else apart = state.differences;
  refreshDesk("differences");
}

/**
 * @param {App} app
 * @param {string | number} what
 */
async function compareRun(app, what) {
  if (!runs.last || comparison) return;
  const work = (comparison = new Work(app.scene, "compare"));
  trouble = "";
  refreshDesk("differences");
  try {
    const found = await work.post({ run: runs.last.number, with: what });
    if (!work.isStopped) showDifferences(app, found);
  } catch (error) {
    if (!work.isStopped) trouble = /** @type {Error} */ (error).message;
  } finally {
    comparison = null;
    refreshDesk("differences");
  }
}

/**
 * @param {App} app
 * @returns {Node[]}
 */
function differences(app) {
  const select = make("select", { onchange: () => (other = select.value) }, ...OTHERS.map(([value, text]) => make("option", { value, selected: value === other }, text)));
  const last = runs.last, isKept = runs.base !== null;
  const keep = make("button", { disabled: !last, title: "compare the next runs with this one", onclick: () => {
    runs.base = isKept || !last ? null : last.number;
    changedRuns();
  } }, isKept ? `Forget run ${runs.base}` : "Keep this run");
  const controls = make("div", { class: "row controls" }, make("label", {}, "the last run, on the reference, against ", select),
    make("button", { class: "primary", disabled: !last || comparison !== null, onclick: () => compareRun(app, other) }, comparison ? "Comparing …" : "Compare"), stopButton(comparison), keep,
    make("span", { class: "faint" }, isKept ? `every run is compared with run ${runs.base}` : "keep a run to compare it with those on other inputs"));
  if (trouble) return [controls, make("p", { class: "bad" }, trouble)];
  if (!last) return [controls, make("p", { class: "faint" }, "Run the model first, in the panel of the model.")];
  if (!apart) return [controls];
  const found = apart, outputs = found.outputs.map(([name, error]) => `${name} ${errorText(error)}`).join(", ");
  const text = `${found.what}: ${found.equal} of ${found.compared} values are equal${outputs ? `; outputs: ${outputs}` : ""}. Errors are the largest difference over the largest element.`;
  const head = make("tr", {}, ...["error", "", "largest difference", "value"].map((each) => make("th", {}, each)));
  const rows = found.worst.map((row) => {
    const bar = make("i", { class: "error" });
    bar.style.width = `${100 * Math.max(0.02, Math.min(1, (Math.log10(row.error) + 8) / 8))}%`;
    return make("tr", { class: "step", tabIndex: 0, onclick: () => app.reveal(row.leaf), onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && app.reveal(row.leaf) },
      make("td", {}, errorText(row.error)), make("td", { class: "line" }, bar), make("td", {}, row.largest >= 1e299 ? "–" : row.largest.toPrecision(3)), make("td", { class: "what" }, row.title));
  });
  return [controls, make("p", { class: "faint" }, text), ...(rows.length ? [make("table", { class: "ranked" }, head, ...rows)] : [])];
}
