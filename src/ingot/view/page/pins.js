// Values that stay in sight, whatever is selected, and are shown anew after every run.
// @ts-check
import { addTab, openDesk, refreshDesk } from "./desk.js";
import { make } from "./elements.js";
import { runs } from "./runs.js";

/** @typedef {import("./app.js").App} App */

/** @type {Set<number>} */
const pinned = new Set();

/** Forget the pinned values: another version of the model is shown. */
export function forgetPins() {
  pinned.clear();
  refreshDesk("pinned");
}

/** @param {number} value */
export function isPinned(value) {
  return pinned.has(value);
}

/**
 * @param {App} app
 * @param {number} value
 */
export function togglePin(app, value) {
  if (pinned.has(value)) pinned.delete(value);
  else {
    pinned.add(value);
    openDesk(app, "pinned");
  }
  refreshDesk("pinned");
}

/**
 * @param {App} app
 * @param {(app: App, value: number, isSmall: boolean) => Node} card  shows a value of the last run
 */
export function pinning(app, card) {
  addTab({ name: "pinned", title: "Pinned", show: () => {
    const known = [...pinned].filter((value) => app.scene.ranges.has(value));
    if (!known.length) return [make("p", { class: "faint" }, "Values that are pinned in the panel stay here, and are shown anew after every run.")];
    return [make("div", { class: "cards" }, ...known.map((value) => card(app, value, true)))];
  } });
  runs.onChange.push(() => runs.isRunning || refreshDesk("pinned"));
}
