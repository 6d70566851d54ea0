// Editing: whether it is on, the list of edits with undo and redo, and the program that does the same.
// @ts-check
import { announce, byId, make } from "./elements.js";
import { formOf } from "./edit_forms.js";
import { showNewest } from "./replace.js";
import { address, get, isSaved, post } from "./transport.js";

/** @typedef {import("./app.js").App} App */

/** @type {any} what the server says of the edits */
let listed = null;
let isEditing = false;

/** @param {App} app */
export function editing(app) {
  const button = byId("edit");
  button.hidden = isSaved || !app.scene.model.editable;
  button.addEventListener("click", async () => {
    listed = listed || (await get("edits"));
    isEditing = !isEditing;
    document.body.classList.toggle("editing", isEditing);
    app.select(app.selection);
  });
  addEventListener("keydown", (event) => {
    const target = /** @type {HTMLInputElement} */ (event.target);
    if (!isEditing || !(event.ctrlKey || event.metaKey) || (["INPUT", "TEXTAREA"].includes(target.tagName) && !(target.dataset.field && target.value === target.defaultValue))) return;
    const key = event.key.toLowerCase();
    if (key !== "z" && key !== "y") return;
    event.preventDefault();
    change(app, key === "y" || event.shiftKey ? "redo" : "undo", {});
  });
  app.panelParts.push(async (selection) => {
    if (!isEditing) return [];
    const errors = make("p", { class: "bad refused" });
    const send = (/** @type {any} */ request, /** @type {string[]} */ names = []) => change(app, "edit", { ...request, version: listed.version }, names, errors);
    const upload = async (/** @type {string} */ path, /** @type {File} */ file) => change(app, `weight/${listed.version}/${path}`, await file.arrayBuffer(), [], errors);
    const form = await formOf(app, selection, send, upload, listed.passes);
    return [make("div", { class: "edit" }, toolbar(app), errors, ...form), ...(selection.kind === "model" ? programPart() : [])];
  });
}

/**
 * Change the model, and show what became of it; what is refused is said at the form.
 * @param {App} app
 * @param {string} path
 * @param {any} body
 * @param {string[]} [names]
 * @param {HTMLElement} [errors]
 */
async function change(app, path, body, names = [], errors) {
  try {
    const answer = await post(path, body);
    if (answer.refused) throw new Error(answer.refused);
    listed = answer;
    await showNewest(app, names);
    const [last] = listed.done.slice(-1);
    const count = listed.done.length, left = `${count || "no"} edit${count === 1 ? "" : "s"} made`;
    announce(path === "undo" ? `undone; ${left}` : path === "redo" ? `done again; ${left}` : last);
  } catch (error) {
    const text = /** @type {Error} */ (error).message;
    if (errors && errors.isConnected) errors.textContent = text;
    else announce(text, true);
  }
}

/** @param {App} app */
function toolbar(app) {
  const button = (/** @type {string} */ text, /** @type {string} */ path, /** @type {number} */ count) =>
    make("button", { disabled: !count, onclick: () => change(app, path, {}) }, `${text}${count ? ` ${count}` : ""}`);
  return make("div", { class: "row" }, button("↶ Undo", "undo", listed.done.length), button("↷ Redo", "redo", listed.undone.length));
}

/** The edits that were made, where to save the model, and the program. */
function programPart() {
  const path = make("input", { type: "text", value: listed.target, size: 30, "data-field": "target" }), said = make("p", { class: "faint saved" });
  const save = make("button", { class: "primary", onclick: async () => {
    try {
      const written = await post("save", { path: path.value });
      if (written.refused) throw new Error(written.refused);
      said.className = "faint saved";
      said.textContent = `wrote ${written.path}, ${written.bytes.toLocaleString("en")} B`;
    } catch (error) {
      said.className = "bad saved";
      said.textContent = /** @type {Error} */ (error).message;
    }
  } }, "Save");
  const text = make("pre", { class: "python" }, listed.python);
  const copy = make("button", { onclick: async () => {
    await navigator.clipboard.writeText(listed.python);
    announce("copied");
  } }, "Copy");
  const arrays = listed.arrays.length ? make("a", { href: address("edits.npz"), download: "edits.npz" }, "edits.npz") : null;
  return [
    make("h2", {}, "Save as a new file"), make("div", { class: "row" }, path, save), said,
    make("h2", {}, "The same in Python"), make("div", { class: "row" }, copy, arrays), text,
  ];
}
