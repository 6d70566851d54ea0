// Files dropped onto the page: models open, others become inputs.
// @ts-check
import { announce, byId } from "./elements.js";
import { sendFile, sendTokeniser } from "./inputs.js";
import { runs, tab } from "./runs.js";
import { isSaved, post } from "./transport.js";

/** @typedef {import("./app.js").App} App */

const INPUTS = /\.(npy|npz|pb|png|jpe?g|bmp|webp|tiff?|gif|ppm|pgm|wav)$/i;

/** @param {App} app */
export function dropping(app) {
  if (isSaved) return;
  const cover = byId("drop");
  let depth = 0;
  addEventListener("dragenter", (event) => {
    if (![...(event.dataTransfer?.types || [])].includes("Files")) return;
    depth += 1;
    cover.hidden = false;
  });
  addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    if (!depth) cover.hidden = true;
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    cover.hidden = true;
    const files = [...(event.dataTransfer?.files || [])];
    if (files.length) receive(app, files);
  });
}

/**
 * @param {App} app
 * @param {File[]} files
 */
async function receive(app, files) {
  try {
    if (app.isRunnable && files.length === 1 && /^tokenizer.*\.json$/i.test(files[0].name)) await sendTokeniser(app, files[0]);
    else if (app.isRunnable && files.every((file) => INPUTS.test(file.name))) await give(app, files);
    else await open(files);
  } catch (error) {
    announce(/** @type {Error} */ (error).message, true);
  }
}

/**
 * Use files for inputs: each for the one that it is named as, else for the first that has no file yet.
 * @param {App} app
 * @param {File[]} files
 */
async function give(app, files) {
  const names = app.scene.model.summary.inputs.map((/** @type {string[]} */ port) => port[0]);
  const free = names.map((/** @type {string} */ _, /** @type {number} */ index) => index).filter((/** @type {number} */ index) => !(index in runs.notes));
  for (const file of files) {
    const named = names.indexOf(file.name.replace(/\.[^.]+$/, "")), index = named >= 0 ? named : free.shift() ?? 0;
    await sendFile(app, index, file);
    if (index in runs.notes) announce(`${names[index]} is ${runs.notes[index]}`);
  }
}

/**
 * Open a model, with the files of its weights if these were dropped with it.
 * @param {File[]} files
 */
async function open(files) {
  const batch = `${tab}-${Date.now().toString(36)}`;
  announce(`opening ${files[0].name} …`);
  for (const file of files) await post(`open/${batch}/${encodeURIComponent(file.name)}`, await file.arrayBuffer());
  const { number } = await post(`open/${batch}`, {});
  location.href = location.pathname.replace(/^(\/[^/]+\/).*$/, `$1${number}/`);
}
