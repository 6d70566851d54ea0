// Forms that edit what is selected: each field is one edit, made with Enter or its button.
// @ts-check
import { byId, make } from "./elements.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./app.js").Selection} Selection
 * @typedef {(request: any, names?: string[]) => void} Send
 * @typedef {(path: string, file: File) => void} Upload
 */

/**
 * The form of a selection.
 * @param {App} app
 * @param {Selection} selection
 * @param {Send} send
 * @param {Upload} upload
 * @param {string[]} passes
 * @returns {Promise<Node[]>}
 */
export async function formOf(app, selection, send, upload, passes) {
  if (selection.kind === "model") return modelForm(send, passes);
  await suggest(app);
  if (selection.kind === "value") return valueForm(await app.scene.get(`value form/${selection.value}`), send);
  const item = selection.instance.level.items[selection.item];
  if (item.kind === "group") return groupForm(app, selection, send);
  const form = await app.scene.get(`leaf form/${item.number}`);
  if (form.kind === "node") return nodeForm(item.number, form, send, upload);
  return [...(form.type === null ? [] : [field("type", "Type", form.type, (type) => send({ kind: "set type", name: form.name, type }))]), ...valueForm(form, send)];
}

/**
 * A field with a label; Enter makes the edit if the text has changed, Escape puts the old text back. Of a text that has not
 * changed, Escape and the keys of undo and redo are those of the page.
 * @param {string} name
 * @param {string} label
 * @param {string} text
 * @param {(text: string) => void} commit
 * @param {{list?: string, locked?: boolean, extra?: Node | null}} [options]
 */
function field(name, label, text, commit, options = {}) {
  const input = make("input", { type: "text", value: text, defaultValue: text, disabled: Boolean(options.locked), spellcheck: false, "data-field": name });
  if (options.list) input.setAttribute("list", options.list);
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (input.value === text && (event.key === "Escape" || event.ctrlKey || event.metaKey)) return;
    if (event.key === "Enter" && input.value !== text) commit(input.value);
    else if (event.key === "Escape") input.value = text;
    event.stopPropagation();
  });
  return make("label", { class: "field" }, make("span", {}, label), input, options.extra);
}

/**
 * @param {Send} send
 * @param {string[]} passes
 */
function modelForm(send, passes) {
  const choice = make("select", { "data-field": "pass" }, ...passes.map((name) => make("option", { value: name }, name)));
  const from = make("input", { type: "text", placeholder: "all that it needs", "data-field": "from" }), to = make("input", { type: "text", placeholder: "values, with commas", "data-field": "to" });
  return [
    make("h2", {}, "Apply a pass"), make("div", { class: "row" }, choice, make("button", { onclick: () => send({ kind: "pass", name: choice.value }) }, "Apply")),
    make("h2", {}, "Cut out a part"), make("label", { class: "field" }, make("span", {}, "from"), from), make("label", { class: "field" }, make("span", {}, "to"), to),
    make("div", { class: "row" }, make("button", { onclick: () => send({ kind: "cut out", inputs: from.value, outputs: to.value }) }, "Cut out")),
  ];
}

/**
 * @param {App} app
 * @param {{instance: import("./reflow.js").Instance, item: number}} selection
 * @param {Send} send
 */
async function groupForm(app, selection, send) {
  const { instance, item: number } = selection, item = instance.level.items[number], open = instance.inner.get(number);
  const level = await app.scene.level(item.members.length ? item.members[open?.chosen || 0] : item.opens ?? -1);
  const named = (/** @type {string} */ kind) => level.items.filter((each) => each.kind === kind).flatMap((each) => each.values).map((value) => app.scene.names.get(value)).join(", ");
  return [make("div", { class: "row" }, make("button", { "data-action": "cut", onclick: () => send({ kind: "cut out", inputs: named("port in"), outputs: named("port out") }) }, "Cut this part out"))];
}

/**
 * @param {number} leaf
 * @param {any} form
 * @param {Send} send
 * @param {Upload} upload
 */
function nodeForm(leaf, form, send, upload) {
  const outputs = form.outputs.map((/** @type {any} */ output) => output.name);
  const label = form.name || outputs[0];
  const removal = (/** @type {string} */ name) => make("button", { title: "remove the attribute", onclick: () => send({ kind: "set attribute", leaf, name, text: null }) }, "×");
  const added = make("input", { type: "text", placeholder: "name", size: 9, "data-field": "new attribute" }), value = make("input", { type: "text", placeholder: "value", size: 9, "data-field": "new value" });
  const add = make("button", { onclick: () => send({ kind: "set attribute", leaf, name: added.value, text: value.value }) }, "Add");
  return [
    field("name", "Name", form.name, (name) => send({ kind: "rename node", leaf, name }, [name, ...outputs])),
    field("operator", "Operator", form.operator, (operator) => send({ kind: "set operator", leaf, operator }), { list: "operators" }),
    ...form.attributes.map((/** @type {any} */ each) => field(`attribute ${each.name}`, each.name, each.text, (text) => send({ kind: "set attribute", leaf, name: each.name, text }), { locked: each.locked, extra: removal(each.name) })),
    make("div", { class: "row" }, "attribute", added, value, add),
    ...form.inputs.flatMap((/** @type {any} */ input) => inputFields(leaf, input, send, upload)),
    field(`input ${form.inputs.length}`, `+ input ${form.inputs.length}`, "", (source) => send({ kind: "rewire", leaf, index: form.inputs.length, source }), { list: "values" }),
    make("div", { class: "row" }, make("button", { class: "danger", "data-action": "delete", title: "its readers read its first input", onclick: () => send({ kind: "delete", leaf }) }, `Delete ${label}`)),
    ...form.outputs.flatMap((/** @type {any} */ output) => valueForm(output, send)),
  ];
}

/**
 * @param {number} leaf
 * @param {any} input
 * @param {Send} send
 * @param {Upload} upload
 */
function inputFields(leaf, input, send, upload) {
  const { index } = input;
  const fields = [field(`input ${index}`, `input ${index}`, input.name, (source) => send({ kind: "rewire", leaf, index, source }), { list: "values" })];
  if (!input.constant) return fields;
  const picker = make("input", { type: "file", accept: ".npy", hidden: true, onchange: () => picker.files[0] && upload(`${leaf}/${index}`, picker.files[0]) });
  const extra = make("button", { title: "elements from an .npy file", onclick: () => picker.click() }, "file …");
  const text = input.elements;
  fields.push(field(`elements ${index}`, text ? "elements" : `fill ${input.type}`, text, (elements) => send({ kind: "set weight", leaf, index, text: elements }), { extra }), picker);
  return fields;
}

/**
 * @param {any} form
 * @param {Send} send
 */
function valueForm(form, send) {
  const operator = make("input", { type: "text", placeholder: "operator", size: 10, "data-field": "insert" }), attributes = make("input", { type: "text", placeholder: "alpha=0.1, axis=1", size: 12, "data-field": "insert attributes" });
  const others = make("input", { type: "text", placeholder: "more inputs", size: 9, "data-field": "insert inputs" });
  operator.setAttribute("list", "operators");
  others.setAttribute("list", "values");
  const insert = make("button", { "data-action": "insert", onclick: () => send({ kind: "insert", value: form.value, operator: operator.value, attributes: attributes.value, inputs: others.value }) }, "Insert");
  const returned = form.returned ? make("button", { onclick: () => send({ kind: "remove output", name: form.name }) }, "Return it no longer") : make("button", { "data-action": "return", onclick: () => send({ kind: "add output", name: form.name }) }, "Return it");
  return [
    make("h2", {}, `value ${form.name}`),
    field(`value ${form.name}`, "Name", form.name, (name) => send({ kind: "rename value", value: form.value, name }, [name])),
    make("div", { class: "row" }, "insert behind it", operator, attributes, others, insert),
    form.main ? make("div", { class: "row" }, returned) : make("span"),
  ];
}

/** @type {string | null} the version that names are suggested of */
let suggested = null;

/** @param {App} app */
async function suggest(app) {
  if (suggested === app.scene.prefix) return;
  suggested = app.scene.prefix;
  const { values, operators } = await app.scene.get("suggestions");
  for (const [id, names] of [["values", values], ["operators", operators]]) byId(id).replaceChildren(...names.map((/** @type {string} */ name) => make("option", { value: name })));
}
