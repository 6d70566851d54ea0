// Runs of the model: what they are given, the last one, and who is told of it.
// @ts-check
import { announce } from "./elements.js";
import { isSaved } from "./transport.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {{number: number, seconds: number, ranges: Record<string, string>, faults: number[], first: number | null, order: number[], places: Record<string, number>, assumed: string[],
 *   inputs: Record<string, string>, differences?: any}} Run
 * @typedef {{kind: "scale" | "noise" | "element", amount: number, at: number}} Change
 */

/** The name of this tab, which has inputs and runs of its own; it stays the same when the page is loaded again. */
export const tab = (() => {
  const fresh = () => `tab-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
  try {
    const key = `ingot-tab ${location.pathname}`, known = sessionStorage.getItem(key) || fresh();
    sessionStorage.setItem(key, known);
    return known;
  } catch {
    return fresh(); // frames of other sites have no storage
  }
})();

export const runs = {
  /** @type {Run | null} */
  last: null,
  isRunning: false,
  problem: "",
  /** @type {{seed: number, shapes: Record<string, string>}} */
  settings: { seed: 0, shapes: {} },
  /** @type {Record<string, string>} what inputs are that are not random, by their index */
  notes: {},
  /** @type {Record<string, Change>} what sliders do to inputs */
  changes: {},
  /** @type {number | null} the run that others are compared with */
  base: null,
  tokeniser: "",
  labels: 0,
  /** @type {(() => void)[]} called when a run begins or ends, or what it is given changes */
  onChange: [],
};

/** Tell everybody that something about runs has changed. */
export function changedRuns() {
  for (const listener of runs.onChange) listener();
}

/** What is sent with every request that computes something. */
export function options() {
  return { seed: runs.settings.seed, shapes: runs.settings.shapes };
}

/**
 * Run the model, and show the run; one that is under way ends. Null if it fails, or is overtaken by another.
 * @param {App} app
 * @param {Record<string, Change>} [changes]  of inputs
 * @returns {Promise<Run | null>}
 */
export async function runModel(app, changes = runs.changes) {
  if (isSaved) return null;
  runs.isRunning = true;
  runs.problem = "";
  const mine = (sequence += 1);
  changedRuns();
  try {
    const done = await app.scene.post(`run/${tab}`, { ...options(), changes, base: runs.base });
    if (mine !== sequence) return null;
    take(app, done);
    return done;
  } catch (error) {
    if (mine === sequence) runs.problem = /** @type {Error} */ (error).message;
    return null;
  } finally {
    if (mine === sequence) {
      runs.isRunning = false;
      changedRuns();
    }
  }
}

let sequence = 0;

/**
 * Show a run.
 * @param {App} app
 * @param {Run} done
 */
function take(app, done) {
  runs.last = done;
  app.scene.ranges = new Map(Object.entries(done.ranges).map(([value, text]) => [Number(value), String(text)]));
  app.scene.faults = new Set(done.faults);
  app.redraw();
}

/** Forget what was run: another version of the model is shown. */
export function forgetRuns() {
  sequence += 1;
  Object.assign(runs, { last: null, isRunning: false, problem: "", base: null, changes: {}, notes: {}, tokeniser: "" });
  changedRuns();
}

/**
 * End the run that is under way.
 * @param {App} app
 */
export function stopRun(app) {
  app.scene.post(`cancel/${tab}`, {}).catch((error) => announce(error.message, true));
}

/**
 * What this tab has done before the page was loaded again: its inputs, its last run, or one that is still under way.
 * @param {App} app
 */
export async function resume(app) {
  if (isSaved) return null;
  const mine = sequence, state = await app.scene.get(`state/${tab}`);
  if (mine !== sequence) return null;
  runs.notes = state.notes;
  runs.tokeniser = state.tokeniser;
  runs.labels = state.labels;
  runs.isRunning = state.running;
  if (state.run) take(app, state.run);
  if (state.running) setTimeout(() => mine === sequence && resume(app).catch(() => {}), 500);
  changedRuns();
  return state;
}
