// The part of the panel that runs the model: inputs from files, a camera or text, their sizes, and sliders.
// @ts-check
import { takePicture } from "./camera.js";
import { openDesk } from "./desk.js";
import { announce, make } from "./elements.js";
import { playing } from "./play.js";
import { changedRuns, runModel, runs, stopRun, tab } from "./runs.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./runs.js").Change} Change
 */

const RATES = ["as it is", "8000", "16000", "22050", "24000", "44100", "48000"];
const CONTROLS = "button, input, select, textarea";
let rate = "16000";
let typed = "";

/**
 * @param {App} app
 * @returns {Node[]}
 */
export function runPanel(app) {
  if (!app.isRunnable) return [];
  const { summary } = app.scene.model, inputs = make("div"), buttons = make("div", { class: "row" }), state = make("div", { class: "state" }), labels = make("div", { class: "row" });
  let given = "";
  fillForm = () => {
    const now = JSON.stringify([runs.notes, Object.entries(runs.changes).map(([index, change]) => [index, change.kind]), runs.tokeniser]);
    if (now !== given) refill(inputs, [...summary.inputs.map((/** @type {string[]} */ port, /** @type {number} */ index) => inputRow(app, port, index)), ...(takesText(summary) ? [textRow(app)] : [])]);
    given = now; // what is held by the mouse or typed into stays while the model runs
    refill(buttons, [make("button", { class: "primary", onclick: () => runModel(app) }, "Run"), make("button", { onclick: () => stopRun(app), disabled: !runs.isRunning }, "Stop"), ...playing(app)]);
    state.replaceChildren(...outcome(app));
    refill(labels, labelParts(app));
  };
  fillForm();
  return [make("h2", {}, "Run it"), make("div", { class: "run" }, inputs, settings(summary), buttons, state, labels)];
}

/**
 * Fill a part of the form anew; the control at the place of the one that had the focus has it.
 * @param {HTMLElement} place
 * @param {Node[]} children
 */
function refill(place, children) {
  const controls = () => [...place.querySelectorAll(CONTROLS)];
  const focused = document.activeElement ? controls().indexOf(document.activeElement) : -1;
  place.replaceChildren(...children);
  if (focused >= 0) /** @type {HTMLElement | undefined} */ (controls()[focused])?.focus();
}

/** Fills the form that was shown last. */
let fillForm = () => {};

/** Show in the form what runs are given now. */
export function refreshForm() {
  fillForm();
}

/**
 * The sizes that inputs have, where the model leaves them open, and the seed of what is random.
 * @param {any} summary
 */
function settings(summary) {
  const sizes = summary.sizes.map((/** @type {string} */ name) => {
    const input = make("input", { type: "text", size: 5, title: "as the metadata of the model says, or 1, if it is empty", value: runs.settings.shapes[name] || "", oninput: () => (runs.settings.shapes[name] = input.value) });
    return make("label", {}, `${name} `, input);
  });
  const seed = make("input", { type: "number", class: "short", min: 0, value: runs.settings.seed, oninput: () => (runs.settings.seed = Math.max(0, Math.round(Number(seed.value)) || 0)) });
  return make("div", { class: "row" }, ...sizes, make("label", { title: "of random inputs" }, "seed ", seed));
}

/**
 * @param {App} app
 * @param {string[]} port
 * @param {number} index
 */
function inputRow(app, [name, type], index) {
  const picker = make("input", { type: "file", hidden: true, onchange: () => picker.files[0] && sendFile(app, index, picker.files[0]) });
  const change = runs.changes[index], slider = make("div", { class: "slider" }, ...(change ? sliderPart(app, index, type) : []));
  const single = /\[(1?)\]$/.exec(type);
  const value = single ? make("input", { type: "text", size: 8, placeholder: "value", onchange: () => value.value.trim() && sendFile(app, index, new File([single[1] ? `[${value.value}]` : value.value], "typed.json")) }) : null;
  const tools = make("div", { class: "row tools" }, value,
    make("button", { onclick: () => picker.click(), title: ".npy .npz .json .pb, an image, a .wav sound" }, "File …"),
    looksLikeImage(type) ? make("button", { onclick: () => camera(app, index), title: "a frame of the camera" }, "Camera") : null,
    make("button", { disabled: !(index in runs.notes), onclick: () => sendFile(app, index, null) }, "Random"),
    make("button", { class: change ? "on" : "", title: "change it, and see what moves", onclick: async () => {
      if (runs.changes[index]) {
        delete runs.changes[index];
        runs.base = null;
        changedRuns();
        await runModel(app);
      } else {
        runs.changes[index] = /^float|^bfloat/.test(type) ? { kind: "scale", amount: 1, at: 0 } : { kind: "element", amount: 0, at: 0 };
        changedRuns();
      }
    } }, "Slider"), picker);
  return make("div", { class: "port input", "data-input": String(index) }, make("div", {}, make("b", {}, name), " ", make("span", { class: "faint" }, runs.notes[index] || "random")), tools, slider);
}

/** @param {string} type */
function looksLikeImage(type) {
  const sizes = /\[(.*)\]/.exec(type)?.[1].split(",").map((size) => size.trim()) || [];
  return sizes.length >= 3 && sizes.length <= 4 && sizes.some((size) => ["1", "3", "4"].includes(size));
}

/**
 * A slider that changes an input; the model is run again while it moves.
 * @param {App} app
 * @param {number} index
 * @param {string} type
 */
function sliderPart(app, index, type) {
  const change = runs.changes[index], isInteger = /int|bool/.test(type);
  const spans = { scale: [0, 2, 0.01], noise: [0, 2, 0.01], element: isInteger ? [0, 1000, 1] : [-3, 3, 0.01] };
  const [low, high, step] = spans[change.kind], shown = make("span", { class: "faint" }, String(change.amount));
  const range = make("input", { type: "range", min: low, max: high, step, value: change.amount, oninput: () => {
    change.amount = Number(range.value);
    shown.textContent = range.value;
    follow(app);
  } });
  const at = make("input", { type: "number", class: "short", min: 0, value: change.at, title: "which element", oninput: () => {
    change.at = Math.max(0, Math.round(Number(at.value)) || 0);
    follow(app);
  } });
  const kinds = [["scale", "all elements ×"], ["noise", "noise +"], ["element", "one element ="]];
  const select = make("select", { onchange: () => {
    Object.assign(change, { kind: select.value, amount: select.value === "scale" ? 1 : 0 });
    changedRuns();
    follow(app);
  } }, ...kinds.map(([value, text]) => make("option", { value, selected: value === change.kind }, text)));
  return [make("div", { class: "row" }, select, change.kind === "element" ? at : null, shown), range];
}

let isMoved = false;
let isMoving = false;

/**
 * Run on what the sliders say, after a run without changes that this one is compared with; again, if they have moved
 * meanwhile: the picture follows them.
 * @param {App} app
 */
async function follow(app) {
  isMoved = true;
  if (isMoving) return;
  isMoving = true;
  try {
    if (runs.base === null) {
      const before = await runModel(app, {});
      if (!before) return;
      runs.base = before.number;
    }
    while (isMoved) {
      isMoved = false;
      await runModel(app);
    }
  } finally {
    isMoving = false;
  }
}

/** @param {any} summary */
function takesText(summary) {
  return summary.inputs.some((/** @type {string[]} */ [, type]) => /^u?int(32|64)\[[^,\]]*(,[^,\]]*)?\]$/.test(type));
}

/** @param {App} app */
function textRow(app) {
  const picker = make("input", { type: "file", hidden: true, accept: ".json", onchange: () => picker.files[0] && sendTokeniser(app, picker.files[0]) });
  const speak = () => sendText(app), area = make("textarea", { rows: 2, placeholder: "text, by way of a tokenizer.json", value: typed, oninput: () => (typed = area.value), onchange: () => runs.tokeniser && speak() });
  return make("div", { class: "port text" }, area, make("div", { class: "row tools" }, make("button", { onclick: () => picker.click() }, "Tokeniser …"),
    make("button", { disabled: !runs.tokeniser, onclick: speak }, "Use the text"), make("span", { class: "faint" }, runs.tokeniser), picker));
}

/**
 * Send the tokeniser of a model, and the text by way of it if there is one.
 * @param {App} app
 * @param {File} file
 */
export async function sendTokeniser(app, file) {
  await attempt(async () => {
    runs.tokeniser = (await app.scene.post(`tokeniser/${tab}`, await file.arrayBuffer())).text;
    announce(`tokeniser: ${runs.tokeniser}`);
  });
  if (runs.tokeniser && typed) await sendText(app);
}

/** @param {App} app */
function sendText(app) {
  return attempt(async () => Object.assign(runs.notes, (await app.scene.post(`text/${tab}`, { text: typed })).notes));
}

/**
 * @param {App} app
 * @returns {Node[]}
 */
function labelParts(app) {
  const picker = make("input", { type: "file", hidden: true, accept: ".txt,.json", onchange: () => picker.files[0] && attempt(async () => {
    runs.labels = (await app.scene.post(`labels/${tab}`, await picker.files[0].arrayBuffer())).count;
  }) });
  return [make("button", { class: "link", onclick: () => picker.click(), title: "names of classes: one on each line, or JSON" }, "Labels …"),
    make("span", { class: "faint" }, runs.labels ? `${runs.labels} names of classes` : "for the scores of classes"), picker];
}

/**
 * Send a file for an input, or have it random again.
 * @param {App} app
 * @param {number} index
 * @param {File | null} file
 */
export async function sendFile(app, index, file) {
  await attempt(async () => {
    const isSound = file && /\.wav$/i.test(file.name), hertz = isSound ? await askRate() : 0;
    const name = file ? encodeURIComponent(file.name.split("/").join("_")) : "npy";
    const answer = await app.scene.post(`feed/${tab}/${index}/${hertz}/${name}`, file ? await file.arrayBuffer() : new ArrayBuffer(0));
    if (file) runs.notes[index] = answer.text;
    else delete runs.notes[index];
  });
}

/**
 * How many samples a second a sound is to have; 0 for those that it has.
 * @returns {Promise<number>}
 */
function askRate() {
  return new Promise((resolve) => {
    const select = make("select", {}, ...RATES.map((value) => make("option", { value, selected: value === rate }, value)));
    const dialog = make("dialog", { class: "ask", onclose: () => {
      rate = select.value;
      dialog.remove();
      resolve(Number(rate) || 0);
    } }, make("p", {}, "Samples a second that the model takes"), make("div", { class: "row" }, select, make("button", { class: "primary", onclick: () => dialog.close() }, "Use")));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * @param {App} app
 * @param {number} index
 */
async function camera(app, index) {
  await attempt(async () => {
    const file = await takePicture();
    if (file) await sendFile(app, index, file);
  });
}

/** @param {() => Promise<any>} action */
async function attempt(action) {
  try {
    await action();
  } catch (error) {
    announce(/** @type {Error} */ (error).message, true);
  }
  changedRuns();
}

/**
 * @param {App} app
 * @returns {Node[]}
 */
function outcome(app) {
  if (runs.isRunning) return [make("p", { class: "faint busy" }, "running, node by node …")];
  if (runs.problem) return [make("p", { class: "bad" }, runs.problem)];
  const last = runs.last;
  if (!last) return [];
  const assumed = last.assumed.length ? `; ${last.assumed.join(", ")} assumed to be 1` : "";
  const compare = make("button", { class: "link", title: "with compiled kernels, with fewer bits, or with a run on other inputs", onclick: () => openDesk(app, "differences") }, "Compare it …");
  const parts = [make("p", { class: "faint" }, `ran in ${last.seconds.toPrecision(3)} s${assumed}. Lines show the least and greatest element. `, compare)];
  if (last.faults.length) {
    const show = last.first === null ? null : make("button", { class: "link", onclick: () => app.reveal(last.first ?? 0) }, "show the first");
    parts.push(make("p", { class: "bad" }, `NaN or infinity in ${last.faults.length} values, red in the picture. `, show));
  }
  return parts;
}
