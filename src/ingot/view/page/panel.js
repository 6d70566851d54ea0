// The panel: what is known of the model, of a group, of a node, of a value or of a weight.
// @ts-check
import { byId, make } from "./elements.js";
import { activeApp } from "./input.js";
import { runPanel } from "./inputs.js";
import { heatMap, histogram } from "./pictures.js";
import { costPart } from "./profile.js";
import { isSaved } from "./transport.js";
import { valuePanel } from "./values.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./scene.js").Item} Item
 */

/** How often the panel was filled: of two pictures, it shows what was selected last. */
let filled = 0;

/**
 * Show what is selected in a picture, whenever it is the one that is acted on.
 * @param {App} app
 */
export function showing(app) {
  const panel = byId("panel");
  const show = async () => {
    if (app !== activeApp()) return;
    const mine = ++filled, selection = app.selection;
    /** @type {Node[]} */
    let parts;
    try {
      if (selection.kind === "model") parts = modelPart(app);
      else if (selection.kind === "value") parts = await valuePart(app, selection.value);
      else {
        const item = selection.instance.level.items[selection.item];
        parts = item.kind === "group" ? groupPart(app, item) : await leafPart(app, item);
      }
      parts = [...(await Promise.all(app.panelParts.map((part) => part(selection)))).flat(), ...parts];
    } catch (error) {
      parts = [make("p", { class: "bad" }, /** @type {Error} */ (error).message)];
    }
    if (mine === filled) {
      const field = /** @type {HTMLElement | null} */ (panel.querySelector("[data-field]:focus"))?.dataset.field;
      panel.replaceChildren(...parts);
      panel.scrollTop = 0;
      if (field) panel.querySelector(`[data-field="${CSS.escape(field)}"]`)?.focus(); // an edit was made by keyboard: the next one can be
    }
  };
  app.onSelect.push(show);
  show();
}

/** @param {App} app */
function modelPart(app) {
  const { summary, title } = app.scene.model;
  const problems = make("div", {}, make("p", { class: "faint" }, "checking …"));
  app.scene.get("check").then((found) => problems.replaceChildren(...problemList(app, found))).catch((error) => problems.replaceChildren(make("p", { class: "faint" }, error.message)));
  const facts = table(summary.facts);
  const { scene } = app, outputs = make("div", {}, ...summary.outputs.map(plainPort));
  scene.typed.then(() => scene.get("outputs")).then((ports) => outputs.replaceChildren(...ports.map(plainPort))).catch(() => {}); // they stay as the file has them
  scene.typed.then(() => scene.get("amounts")).then((rows) => facts.append(...table(rows).childNodes)).catch(() => {}); // shapes do not tell them
  return [
    make("h1", {}, title),
    summary.doc ? make("p", { class: "faint" }, summary.doc) : make("span"),
    facts,
    make("h2", {}, "Inputs"), ...summary.inputs.map((/** @type {string[]} */ port) => plainPort(port)),
    make("h2", {}, "Outputs"), outputs,
    ...runPanel(app),
    make("h2", {}, "Operators"), bars(summary.operators),
    make("h2", {}, "Problems"), problems,
    ...(Object.keys(summary.metadata).length ? [make("h2", {}, "Metadata"), table(Object.entries(summary.metadata))] : []),
  ];
}

/**
 * @param {App} app
 * @param {{message: string, where: string[], hint: string | null, severity: string, leaf: number | null}[]} problems
 */
function problemList(app, problems) {
  if (!problems.length) return [make("p", { class: "faint" }, "none found by check")];
  return problems.map((problem) => {
    const place = problem.leaf === null ? null : make("button", { class: "link", onclick: () => app.reveal(problem.leaf || 0) }, "show the node");
    return make("div", { class: `problem ${problem.severity}` }, make("p", {}, `${problem.severity}: ${problem.message}`),
      ...problem.where.map((line) => make("p", { class: "faint" }, line)), problem.hint ? make("p", {}, `hint: ${problem.hint}`) : null, place);
  });
}

/**
 * @param {App} app
 * @param {Item} item
 */
function groupPart(app, item) {
  const selection = app.selection;
  if (selection.kind !== "item") return [];
  const { instance, item: number } = selection, open = instance.inner.get(number);
  const level = app.scene.levels.get(item.members.length ? item.members[open?.chosen || 0] : item.opens ?? -1);
  const steps = item.members.length && open
    ? make("div", { class: "row" }, make("button", { onclick: () => app.turn(instance, number, -1) }, "‹"), `${open.chosen + 1} of ${item.members.length}`, make("button", { onclick: () => app.turn(instance, number, 1) }, "›"))
    : null;
  return [
    make("h1", {}, item.title),
    ...item.rows.map((row) => make("p", { class: "faint" }, row[1])),
    make("div", { class: "row" }, make("button", { class: "primary", onclick: () => app.toggle(instance, number) }, open ? "Close" : "Open"), make("button", { onclick: () => app.openAll() }, "Open all inside")),
    ...(steps ? [make("h2", {}, "Equal parts"), steps] : []),
    ...costPart(app, item),
    make("h2", {}, "Operators by family"),
    bars(item.mixture.map(([family, share]) => [app.scene.model.families[family].name, Math.round(share * 1000) / 10, " %"])),
    ...(level ? ports(app, level) : []),
    ...valuePanel(app, [...new Set(instance.level.tracks.filter((track) => track.source === number).flatMap((track) => track.values))].slice(0, 4)),
  ];
}

/**
 * What enters and leaves a level.
 * @param {App} app
 * @param {import("./scene.js").Level} level
 */
function ports(app, level) {
  /** @type {Node[]} */
  const parts = [];
  for (const [kind, title] of [["port in", "Reads"], ["port out", "Computes for others"]]) {
    const values = level.items.filter((item) => item.kind === kind).flatMap((item) => item.values);
    if (values.length) parts.push(make("h2", {}, title), ...values.map((value) => valueLink(app, value)));
  }
  return parts;
}

/**
 * @param {App} app
 * @param {number} value
 */
function valueLink(app, value) {
  return make("div", { class: "port" }, make("button", { class: "link", onclick: () => app.select({ kind: "value", value }) }, app.scene.names.get(value) || "?"),
    make("div", { class: "type" }, app.scene.types.get(value) || ""));
}

/**
 * @param {App} app
 * @param {Item} item
 */
async function leafPart(app, item) {
  const node = await app.scene.get(`node/${item.number}`);
  const family = item.family ? app.scene.model.families[item.family] : null;
  const tag = family ? make("span", { class: "tag" }, family.name) : null;
  if (tag && family) tag.style.background = family[app.drawing.theme.is_dark ? "dark" : "light"];
  /** @type {Node[]} */
  const parts = [make("h1", {}, node.title), make("p", { class: "faint" }, node.name), make("div", { class: "row" }, tag, node.version ? make("span", { class: "faint" }, node.version) : null)];
  if (item.opens !== null) {
    const selection = app.selection;
    if (selection.kind === "item") parts.push(make("button", { class: "primary", onclick: () => app.toggle(selection.instance, selection.item) }, "Open or close its graphs"));
  }
  if (node.attributes.length) {
    const rows = node.attributes.map((/** @type {any} */ each) => make("tr", { class: each.default ? "default" : "", title: each.default ? "the default, not in the file" : "" }, make("td", {}, each.name), make("td", {}, each.text)));
    parts.push(make("h2", {}, "Attributes"), make("table", {}, ...rows));
  }
  for (const [title, list] of [["Inputs", node.inputs], ["Outputs", node.outputs]])
    if (list.length) parts.push(make("h2", {}, title), ...list.map((/** @type {any} */ port) => portPart(app, item.number, port)));
  if (node.more) parts.push(make("p", { class: "faint" }, `and ${node.more.toLocaleString()} more inputs or outputs`));
  parts.push(...valuePanel(app, node.outputs.map((/** @type {any} */ port) => port.value)));
  if (item.kind === "node") parts.push(...costPart(app, item), ...fatePart(app, item.number));
  if (node.documentation) parts.push(make("h2", {}, "What it computes"), make("p", {}, ...spelled(node.documentation)));
  if (node.doc_string) parts.push(make("h2", {}, "Notes of the model"), make("p", {}, node.doc_string));
  if (node.metadata.length) parts.push(make("h2", {}, "Metadata"), table(node.metadata));
  return parts;
}

/**
 * @param {App} app
 * @param {number} leaf
 * @param {any} port
 */
function portPart(app, leaf, port) {
  const { scene } = app, box = make("div", { class: "port" }, make("span", { class: "faint" }, `${port.formal}  `));
  if (port.weight !== null) {
    const inside = make("div");
    const button = make("button", { class: "link", onclick: async () => {
      if (inside.firstChild) return inside.replaceChildren();
      try {
        inside.replaceChildren(...weightPart(await scene.get(`weight/${leaf}/${port.weight}`), scene.address(`npy/${leaf}/${port.weight}`)));
      } catch (error) {
        inside.replaceChildren(make("p", { class: "bad" }, /** @type {Error} */ (error).message));
      }
    } }, port.name);
    box.append(button, make("div", { class: "type" }, port.type, port.text ? ` = ${port.text}` : ""), inside);
  } else {
    const value = port.value;
    box.append(value === null ? port.name : make("button", { class: "link", onclick: () => app.select({ kind: "value", value }) }, port.name), make("div", { class: "type" }, port.type));
    for (const [word, leaves] of [["from", port.producers], ["read by", port.readers]])
      for (const [other, title] of leaves) box.append(make("div", {}, make("span", { class: "faint" }, `${word} `), make("button", { class: "link", onclick: () => app.reveal(other) }, title)));
  }
  return box;
}

/**
 * @param {any} weight
 * @param {string | null} file  the address of its elements
 */
function weightPart(weight, file) {
  const parts = [table(weight.facts)];
  if (weight.histogram) parts.push(histogram(weight.histogram, weight.low, weight.high));
  if (weight.colours) parts.push(heatMap(weight.colours));
  if (weight.picture) parts.push(heatMap(weight.picture));
  if (file) parts.push(make("a", { href: file, download: weight.file }, "download .npy"));
  return parts;
}

/**
 * @param {App} app
 * @param {number} value
 */
async function valuePart(app, value) {
  const found = await app.scene.get(`value/${value}`);
  const link = (/** @type {[number, string]} */ [leaf, title]) => make("div", { class: "port" }, make("button", { class: "link", onclick: () => app.reveal(leaf) }, title));
  const readers = found.readers.map(link), producer = found.producers.map(link);
  return [make("h1", {}, found.name), make("p", { class: "faint" }, found.type), make("h2", {}, "Computed by"), ...producer, make("h2", {}, `Read by ${readers.length}`), ...readers, ...valuePanel(app, [value])];
}

/**
 * Who runs a node, asked for by a button: the model is compiled for it.
 * @param {App} app
 * @param {number} leaf
 */
function fatePart(app, leaf) {
  const { scene } = app;
  if (isSaved || scene.model.compared) return [];
  const place = make("div", {}, make("button", { onclick: async () => {
    place.replaceChildren(make("p", { class: "faint" }, "compiling …"));
    try {
      const fate = await scene.get(`explain/${leaf}`);
      place.replaceChildren(...fate.lines.map((/** @type {string} */ line) => make("p", {}, line)));
    } catch (error) {
      place.replaceChildren(make("p", { class: "bad" }, /** @type {Error} */ (error).message));
    }
  } }, "Compile and explain"));
  return [make("h2", {}, "Who runs it"), place];
}

/**
 * A text of ours, in which names stand between backticks.
 * @param {string} text
 */
function spelled(text) {
  return text.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));
}

/** @param {string[]} port */
function plainPort(port) {
  return make("div", { class: "port" }, port[0], make("div", { class: "type" }, port[1]));
}

/** @param {[string, string][]} rows */
function table(rows) {
  return make("table", {}, ...rows.map(([name, text]) => make("tr", {}, make("td", {}, name), make("td", {}, text))));
}

/** @param {[string, number, string?][]} rows */
export function bars(rows) {
  const most = Math.max(1e-9, ...rows.map((row) => row[1]));
  return make("div", { class: "bars" }, ...rows.flatMap(([name, amount, unit]) => {
    const bar = make("i");
    bar.style.width = `${(100 * amount) / most}%`;
    return [make("span", {}, name), bar, make("span", { class: "faint" }, `${amount}${unit || ""}`)];
  }));
}
