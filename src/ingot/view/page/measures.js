// Colours of nodes and groups by a measure: time, bytes, arithmetic, or how far two runs lie apart.
// @ts-check
import { greatest } from "./amounts.js";
import { byId, make } from "./elements.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {{colour: string, label: string, share: number}} Mark
 * @typedef {{leaves: Map<number, Mark>, levels: Map<number, Mark>}} Measured
 * @typedef {{title: string, low: string, high: string, kind: "cost" | "error", leaves: Map<number, number>, levels: Map<number, number>, text: (amount: number) => string}} Measure
 */

/** Colours from little to much, on which text of the theme can be read. */
const SCALES = {
  cost: { light: ["#fdf6e7", "#fbd38a", "#f08b3c"], dark: ["#262b32", "#6a4a22", "#b3541e"] },
  error: { light: ["#e9f5ec", "#fbe08a", "#ee6b5f"], dark: ["#22352a", "#6a5a1d", "#a4382f"] },
};

const LEAST_ERROR = -8;

/** @type {Measure | null} */
let chosenMeasure = null;

/**
 * Colour by a measure, or as before if there is none.
 * @param {App} app
 * @param {Measure | null} measure
 */
export function setMeasure(app, measure) {
  chosenMeasure = measure;
  applyMeasure(app);
}

/** The measure that the picture is coloured by. */
export function measure() {
  return chosenMeasure;
}

/**
 * Compute the marks for the theme, and show the legend.
 * @param {App} app
 */
export function applyMeasure(app) {
  const legend = byId("scale");
  legend.hidden = chosenMeasure === null;
  byId("legend").hidden = chosenMeasure !== null;
  if (!chosenMeasure) app.drawing.measured = null;
  else {
    const shade = app.drawing.theme.is_dark ? "dark" : "light", { kind, text } = chosenMeasure, scale = SCALES[kind][shade];
    const most = greatest(chosenMeasure.leaves.values(), 1e-30);
    const mark = (/** @type {number} */ amount, /** @type {number} */ top) => {
      const share = kind === "cost" ? Math.min(1, amount / top) : errorShare(amount);
      return { colour: blend(scale, kind === "cost" ? Math.sqrt(share) : share), label: amount ? text(amount) : "", share };
    };
    const tallest = greatest([...chosenMeasure.levels].filter(([level]) => level !== app.scene.model.root).map(([, amount]) => amount), most);
    app.drawing.measured = {
      leaves: new Map([...chosenMeasure.leaves].map(([leaf, amount]) => [leaf, mark(amount, most)])),
      levels: new Map([...chosenMeasure.levels].map(([level, amount]) => [level, mark(amount, tallest)])),
    };
    const ramp = make("i", { class: "ramp" });
    ramp.style.background = `linear-gradient(90deg, ${scale.join(", ")})`;
    legend.replaceChildren(make("b", {}, chosenMeasure.title), ramp, make("div", { class: "ends" }, make("span", {}, chosenMeasure.low), make("span", {}, chosenMeasure.high)),
      make("button", { class: "link", onclick: () => setMeasure(app, null) }, "colours of operators"));
  }
  app.redraw();
}

/** @param {number} error */
function errorShare(error) {
  return error > 0 ? Math.max(0.02, Math.min(1, (Math.log10(error) - LEAST_ERROR) / -LEAST_ERROR)) : 0;
}

/**
 * @param {string[]} scale
 * @param {number} t  from 0 to 1
 */
function blend(scale, t) {
  const at = Math.max(0, Math.min(1, t)) * (scale.length - 1), first = Math.min(scale.length - 2, Math.floor(at)), part = at - first;
  const channel = (/** @type {string} */ colour, /** @type {number} */ i) => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  return `rgb(${[0, 1, 2].map((i) => Math.round(channel(scale[first], i) * (1 - part) + channel(scale[first + 1], i) * part)).join(" ")})`;
}
