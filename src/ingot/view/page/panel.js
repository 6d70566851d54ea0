// The panel: what is known of the model, of a group, of a node, of a value or of a weight.
// @ts-check
import { byId, make } from "./elements.js";
import { heatMap, histogram } from "./pictures.js";
import { runPanel, valuePanel } from "./run.js";
import { address, get, isSaved } from "./transport.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./scene.js").Item} Item
 */

/**
 * Show what is selected, from now on; what is selected already, unless it is another picture's turn.
 * @param {App} app
 * @param {boolean} [isLater]
 */
export function showing(app, isLater = false) {
  const panel = byId("panel");
  let turn = 0;
  const show = async () => {
    const mine = ++turn, selection = app.selection;
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
    if (mine === turn) {
      panel.replaceChildren(...parts);
      panel.scrollTop = 0;
    }
  };
  app.onSelect.push(show);
  if (!isLater) show();
}

/** @param {App} app */
function modelPart(app) {
  const { summary, title } = app.scene.model;
  const problems = make("div", {}, make("p", { class: "faint" }, "checking …"));
  get("check").then((found) => problems.replaceChildren(...problemList(app, found))).catch((error) => problems.replaceChildren(make("p", { class: "faint" }, error.message)));
  return [
    make("h1", {}, title),
    summary.doc ? make("p", { class: "faint" }, summary.doc) : make("span"),
    table(summary.facts),
    make("h2", {}, "Inputs"), ...summary.inputs.map((/** @type {string[]} */ port) => plainPort(port)),
    make("h2", {}, "Outputs"), ...summary.outputs.map((/** @type {string[]} */ port) => plainPort(port)),
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
    make("h2", {}, "Operators by family"),
    bars(item.mixture.map(([family, share]) => [app.scene.model.families[family].name, Math.round(share * 1000) / 10, "%"])),
    ...(level ? ports(app, level) : []),
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
  const node = await get(`node/${item.number}`);
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
  parts.push(...valuePanel(app, node.outputs.map((/** @type {any} */ port) => port.value)));
  if (item.kind === "node") parts.push(...fatePart(item.number));
  if (node.documentation) parts.push(make("h2", {}, "What it computes"), make("p", {}, node.documentation));
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
  const box = make("div", { class: "port" }, make("span", { class: "faint" }, `${port.formal}  `));
  if (port.weight !== null) {
    const inside = make("div");
    const button = make("button", { class: "link", onclick: async () => {
      if (inside.firstChild) return inside.replaceChildren();
      try {
        inside.replaceChildren(...weightPart(await get(`weight/${leaf}/${port.weight}`), `npy/${leaf}/${port.weight}`));
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
 * @param {string} path
 */
function weightPart(weight, path) {
  const parts = [table(weight.facts)];
  if (weight.histogram) parts.push(histogram(weight.histogram, weight.low, weight.high));
  if (weight.picture) parts.push(heatMap(weight.picture));
  const file = address(path);
  if (file) parts.push(make("a", { href: file, download: weight.file }, "download .npy"));
  return parts;
}

/**
 * @param {App} app
 * @param {number} value
 */
async function valuePart(app, value) {
  const found = await get(`value/${value}`);
  const link = (/** @type {[number, string]} */ [leaf, title]) => make("div", { class: "port" }, make("button", { class: "link", onclick: () => app.reveal(leaf) }, title));
  const readers = found.readers.map(link), producer = found.producers.map(link);
  return [make("h1", {}, found.name), make("p", { class: "faint" }, found.type), make("h2", {}, "Computed by"), ...producer, make("h2", {}, `Read by ${readers.length}`), ...readers, ...valuePanel(app, [value])];
}

/**
 * Who runs a node, asked for by a button: the model is compiled for it.
 * @param {number} leaf
 */
function fatePart(leaf) {
  if (isSaved) return [];
  const place = make("div", {}, make("button", { onclick: async () => {
    place.replaceChildren(make("p", { class: "faint" }, "compiling …"));
    try {
      const fate = await get(`explain/${leaf}`);
      place.replaceChildren(...fate.lines.map((/** @type {string} */ line) => make("p", {}, line)));
    } catch (error) {
      place.replaceChildren(make("p", { class: "bad" }, /** @type {Error} */ (error).message));
    }
  } }, "Compile and explain"));
  return [make("h2", {}, "Who runs it"), place];
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
