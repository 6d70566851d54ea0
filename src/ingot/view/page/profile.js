// What the model costs: measured on the server, shown as colours, a ranked list, a timeline and a roofline.
// @ts-check
import { greatest, scaledText, secondsText } from "./amounts.js";
import { addTab, openDesk, openTab, refreshDesk } from "./desk.js";
import { announce, byId, make } from "./elements.js";
import { measure, setMeasure } from "./measures.js";
import { roofline } from "./roofline.js";
import { options } from "./runs.js";
import { showStep } from "./steps.js";
import { timeline } from "./timeline.js";
import { has, isSaved } from "./transport.js";
import { Work, ended, stopButton } from "./work.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {[number, number, number]} Cost  seconds, bytes, operations
 * @typedef {{kernel: string | null, title: string, cost: Cost, leaves: number[], family: string}} Step
 * @typedef {{whole: number, kernels: number, calls: number, runs: number, threads: number, load: number | null, inputs: Record<string, string>,
 *   nodes: Record<string, Cost>, levels: Record<string, Cost>, steps: Step[], timeline: [number, number, number, number][], limits: [number, number, number]}} Profile
 */

const MEASURES = /** @type {const} */ ([["time", 0, secondsText], ["bytes", 1, (/** @type {number} */ bytes) => scaledText(bytes, "B")], ["arithmetic", 2, (/** @type {number} */ count) => scaledText(count, "op")]]);

/** @type {Profile | null} */
let profile = null;
/** @type {Work | null} */
let measurement = null;
let complaint = "";
const wish = { threads: "", precision: "", seconds: 1 };
let ranked = "kernels";

/** @param {App} app */
export function profiling(app) {
  addTab({ name: "costs", title: "Costs", show: () => costs(app) });
  addTab({ name: "timeline", title: "Timeline", show: () => (profile ? [bar(app), timeline(app, profile)] : unmeasured(app)) });
  addTab({ name: "roofline", title: "Roofline", show: () => (profile ? [bar(app), roofline(app, profile)] : unmeasured(app)) });
  byId("profile").onclick = () => openDesk(app, "costs");
}

/**
 * Show what was measured before: in a saved page, or before this one was loaded again. What is being measured is waited for.
 * @param {App} app
 * @param {{profiled: boolean, works: string[]} | null} state  of this tab
 */
export async function resumeProfile(app, state) {
  const { scene } = app;
  if (state?.works.includes("profile") && !measurement) {
    const work = (measurement = new Work(scene, "profile"));
    openDesk(app, "costs");
    state = await ended(work);
    measurement = null;
    refreshAll();
  }
  if (app.scene !== scene || !(state?.profiled || has("profile"))) return;
  profile = await scene.get("profile");
  colourBy(app, 0);
  if (isSaved) openDesk(app, "costs");
}

/** Forget what was measured, and stop measuring: another version of the model is shown. */
export function forgetProfile() {
  profile = null;
  measurement?.stop();
  refreshAll();
}

/** @param {App} app */
async function measureModel(app) {
  if (measurement) return;
  const work = (measurement = new Work(app.scene, "profile"));
  complaint = "";
  refreshAll();
  try {
    const threads = Number(wish.threads) || null;
    const found = await work.post({ ...options(), threads, precision: wish.precision || null, seconds: wish.seconds });
    if (work.isStopped) return;
    profile = found;
    colourBy(app, 0);
  } catch (error) {
    if (work.isStopped) return;
    complaint = /** @type {Error} */ (error).message;
    announce(complaint, true);
  } finally {
    measurement = null;
    refreshAll();
    app.select(app.selection);
  }
}

function refreshAll() {
  refreshDesk(openTab());
}

/**
 * Colour nodes and groups by a cost.
 * @param {App} app
 * @param {number} place
 */
function colourBy(app, place) {
  if (!profile) return;
  const [name, index, text] = MEASURES[place], amounts = (/** @type {Record<string, Cost>} */ costs) => new Map(Object.entries(costs).map(([number, cost]) => [Number(number), cost[index]]));
  const leaves = amounts(profile.nodes), total = profile.levels[app.scene.model.root]?.[index] || 1;
  setMeasure(app, { title: name, low: "0", high: text(greatest(leaves.values(), 0)), kind: "cost", leaves, levels: amounts(profile.levels), text: (amount) => (amount / total < 0.001 ? "" : `${text(amount)} · ${percent(amount / total)}`) });
}

/** @param {number} share */
function percent(share) {
  return share >= 0.0995 ? `${Math.round(100 * share)} %` : share >= 0.0005 ? `${(100 * share).toPrecision(share >= 0.01 ? 2 : 1)} %` : "< 0.1 %";
}

/**
 * The controls above every tab.
 * @param {App} app
 */
function bar(app) {
  const picked = measure();
  const colours = make("select", { "data-role": "colour", onchange: () => (colours.value === "-" ? setMeasure(app, null) : colourBy(app, Number(colours.value))) },
    ...MEASURES.map(([name], place) => make("option", { value: String(place), selected: picked?.title === name }, name)), make("option", { value: "-", selected: !picked || picked.kind !== "cost" }, "operators"));
  return make("div", { class: "row controls" }, ...(isSaved ? [] : measuring(app)), profile ? make("label", {}, "colour by ", colours) : null, profile ? make("span", { class: "faint about", title: summary(profile) }, summary(profile)) : null);
}

/**
 * @param {App} app
 * @returns {Node[]}
 */
function measuring(app) {
  const threads = make("input", { type: "number", class: "short", min: 1, placeholder: "all", value: wish.threads, oninput: () => (wish.threads = threads.value) });
  const precisions = make("select", { onchange: () => (wish.precision = precisions.value) }, ...["", "bf16", "fp16", "int8-dynamic"].map((name) => make("option", { value: name, selected: name === wish.precision }, name || "as it is")));
  return [make("button", { class: "primary", disabled: measurement !== null, onclick: () => measureModel(app) }, measurement ? "Measuring …" : "Measure"), stopButton(measurement), make("label", {}, "threads ", threads), make("label", {}, "precision ", precisions)];
}

/** @param {Profile} found */
function summary(found) {
  const busy = found.load !== null && found.load > found.threads + 1 ? ` · the machine was busy (load ${found.load.toFixed(1)})` : "";
  const inputs = Object.values(found.inputs).join(", ");
  return `a run takes ${secondsText(found.whole)} with ${found.threads} thread${found.threads > 1 ? "s" : ""}, on ${inputs.length > 60 ? `${inputs.slice(0, 60)}…` : inputs}${busy}`;
}

/**
 * @param {App} app
 * @returns {Node[]}
 */
function unmeasured(app) {
  const text = measurement ? "compiling and measuring …" : complaint || "The model is compiled and run on the inputs of “Run it”; each kernel is measured by itself.";
  return [bar(app), make("p", { class: complaint && !measurement ? "bad" : "faint" }, text)];
}

/**
 * Kernels or operators, those that take longest first.
 * @param {App} app
 * @returns {Node[]}
 */
function costs(app) {
  if (!profile) return unmeasured(app);
  const found = profile, total = found.steps.reduce((sum, step) => sum + step.cost[0], 0) || 1;
  const select = make("select", { onchange: () => {
    ranked = select.value;
    refreshAll();
  } }, ...["kernels", "alike kernels"].map((name) => make("option", { value: name, selected: name === ranked }, name)));
  const rows = (ranked === "kernels" ? found.steps.map((step) => ({ ...step, count: 1 })) : merged(found.steps)).sort((a, b) => b.cost[0] - a.cost[0]);
  const head = make("tr", {}, ...["time", "share", "", "GFLOP/s", "GB/s", "of the limit", "what"].map((text) => make("th", {}, text)));
  const top = rows[0]?.cost[0] || 1;
  const body = rows.slice(0, 400).map((row) => {
    const [seconds, bytes, count] = row.cost, line = make("i");
    line.style.width = `${(100 * seconds) / top}%`;
    return make("tr", { class: "step", tabIndex: 0, onclick: () => showStep(app, row.leaves), onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && showStep(app, row.leaves) },
      make("td", {}, secondsText(seconds)), make("td", {}, percent(seconds / total)), make("td", { class: "line" }, line), make("td", {}, rateText(count, seconds)), make("td", {}, rateText(bytes, seconds)),
      make("td", {}, reached(found, row.cost)), make("td", { class: "what" }, row.title, row.count > 1 ? make("span", { class: "faint" }, ` × ${row.count}`) : make("span", { class: "faint" }, ` ${row.kernel || ""}`)));
  });
  return [make("div", { class: "row controls" }, make("label", {}, "list ", select), bar(app)), make("table", { class: "ranked" }, head, ...body)];
}

/**
 * The part of what the machine could do that a kernel reaches: of its arithmetic, or of what memory or cache could bring.
 * @param {Profile} found
 * @param {Cost} cost
 */
function reached(found, [seconds, bytes, count]) {
  if (!seconds || !bytes) return "";
  const [operations, memory, cache] = found.limits, bandwidth = bytes / seconds > memory ? cache : memory;
  const best = Math.max(count / operations, bytes / bandwidth);
  return percent(Math.min(1, best / seconds));
}

/**
 * @param {number} amount
 * @param {number} seconds
 */
function rateText(amount, seconds) {
  if (!amount || !seconds) return "";
  const rate = amount / seconds / 1e9;
  return rate >= 99.5 ? rate.toFixed(0) : rate.toFixed(1);
}

/** @param {Step[]} steps */
function merged(steps) {
  /** @type {Map<string, Step & {count: number}>} */
  const groups = new Map();
  for (const step of steps) {
    const known = groups.get(step.title);
    if (!known) groups.set(step.title, { ...step, cost: [...step.cost], leaves: [...step.leaves], count: 1 });
    else {
      known.count += 1;
      known.leaves.push(...step.leaves);
      step.cost.forEach((amount, i) => (known.cost[i] += amount));
    }
  }
  return [...groups.values()];
}

/**
 * What a node or a group costs, for the panel.
 * @param {App} app
 * @param {import("./scene.js").Item} item
 * @returns {Node[]}
 */
export function costPart(app, item) {
  if (!profile) return [];
  const found = profile, cost = item.kind === "group" ? found.levels[item.opens ?? -1] : found.nodes[item.number];
  const total = found.levels[app.scene.model.root];
  if (!cost || !total) return [make("h2", {}, "Cost"), make("p", { class: "faint" }, "nothing was measured of it: it is no work at run time")];
  const rows = MEASURES.map(([name, index, text]) => make("tr", {}, make("td", {}, name), make("td", {}, `${text(cost[index])}, ${percent(cost[index] / (total[index] || 1))}`)));
  const steps = item.kind === "group" ? [] : found.steps.filter((step) => step.leaves.includes(item.number));
  return [make("h2", {}, "Cost"), make("table", {}, ...rows), ...steps.slice(0, 6).map((step) => make("p", { class: "faint" }, `${step.kernel || "on the reference"}: ${step.title}, ${secondsText(step.cost[0])}`)),
    ...(steps.some((step) => step.leaves.length > 1) ? [make("p", { class: "faint" }, "Its part of a kernel that computes several nodes is an estimate.")] : [])];
}
