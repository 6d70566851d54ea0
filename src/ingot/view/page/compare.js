// Two models in one page: merged or side by side, in colour, with a list of what differs.
// @ts-check
import { App } from "./app.js";
import { byId, make } from "./elements.js";
import { activate, activeApp, touching } from "./input.js";
import { marksFor } from "./marks.js";
import { showing } from "./panel.js";
import { Scene } from "./scene.js";
import { get } from "./transport.js";

/**
 * @typedef {{status: string, title: string, changes: {kind: string, name: string, before: string | null, after: string | null, numbers: string | null}[],
 *   a: number | null, b: number | null, merged: number | null}} Difference
 * @typedef {"merged" | "a" | "b"} Side
 */

/** @type {Record<string, {ring: string, light: string, dark: string, words: string}>} */
const STATUS = {
  removed: { ring: "#c62828", light: "#f6b9b3", dark: "#7d2a26", words: "removed" },
  added: { ring: "#2e7d32", light: "#b5e3bf", dark: "#235c2b", words: "added" },
  changed: { ring: "#b7791f", light: "#ffe29a", dark: "#6b5314", words: "changed" },
  renamed: { ring: "#6b5fc7", light: "#d5cff5", dark: "#40397a", words: "renamed or moved" },
};
const SAME = { light: "#f1f3f5", dark: "#262d36" };

/**
 * Show differences in the page of a merged model.
 * @param {App} app
 */
export async function comparing(app) {
  const titles = app.scene.model.compared;
  if (!titles) return;
  const found = await get("differences");
  /** @type {Record<Side, App | null>} */
  const apps = { merged: app, a: null, b: null };
  /** @type {Map<number, number>} */
  const toB = new Map(Object.entries(found.partners).map(([a, b]) => [Number(a), Number(b)])), toA = new Map([...toB].map(([a, b]) => [b, a]));
  let isBeside = false;

  const go = (/** @type {Difference} */ entry) => {
    const sides = /** @type {Side[]} */ (isBeside ? ["b", "a"] : ["merged"]).filter((side) => entry[side] !== null);
    sides.forEach((side, i) => {
      const shown = apps[side];
      if (shown && !i) activate(shown);
      shown?.reveal(entry[side] ?? 0);
    });
  };
  const partsOf = (/** @type {Side} */ side) => async (/** @type {import("./app.js").Selection} */ selection) => {
    if (selection.kind === "model") return listPart(found, titles, go);
    if (selection.kind !== "item" || !apps[side]) return [];
    const leaf = selection.instance.level.items[selection.item].number;
    return found.entries.filter((/** @type {Difference} */ entry) => leaf >= 0 && entry[side] === leaf).map(entryPart);
  };
  const colour = async (/** @type {Side} */ side) => {
    const shown = apps[side];
    if (!shown) return;
    const shade = shown.drawing.theme.is_dark ? "dark" : "light";
    /** @type {Map<number, string>} */
    const rings = new Map();
    const { names } = await shown.scene.index();
    shown.drawing.heat = new Map(names.map((/** @type {string} */ _, /** @type {number} */ leaf) => [leaf, SAME[shade]]));
    for (const [leaf, status] of Object.entries(found.colours[side])) {
      rings.set(Number(leaf), STATUS[status].ring);
      shown.drawing.heat.set(Number(leaf), STATUS[status][shade]);
    }
    shown.drawing.marks = await marksFor(shown.scene, rings, Object.values(STATUS).map((each) => each.ring));
    shown.redraw();
  };

  const open = async (/** @type {"a" | "b"} */ side) => {
    const scene = new Scene(await get(`${side}/model`), `${side}/`), other = new App(scene, byId(`graph-${side}`));
    apps[side] = other;
    other.drawing.theme = scene.model.themes[app.drawing.theme.is_dark ? "dark" : "light"];
    other.panelParts.push(partsOf(side));
    touching(other);
    new ResizeObserver(() => other.resize()).observe(other.canvas);
    other.onSelect.push(() => follow(side));
    showing(other);
    scene.fetchTypes().then(() => other.redraw());
    await colour(side);
    return other;
  };
  /** Show what is selected in one picture in the other, too. */
  const follow = (/** @type {"a" | "b"} */ side) => {
    const shown = apps[side], other = apps[side === "a" ? "b" : "a"];
    if (!shown || !other || shown !== activeApp() || shown.selection.kind !== "item") return;
    const leaf = shown.selection.instance.level.items[shown.selection.item].number, partner = (side === "a" ? toB : toA).get(leaf);
    if (leaf >= 0 && partner !== undefined) other.reveal(partner);
  };

  /** @type {Promise<App[]> | null} */
  let pair = null;
  const button = byId("beside");
  button.hidden = false;
  button.onclick = async () => {
    const pictures = isBeside ? [app] : await (pair ??= Promise.all([open("a"), open("b")])), [last] = pictures.slice(-1);
    isBeside = last !== app;
    document.body.classList.toggle("beside", isBeside);
    button.textContent = isBeside ? "Merged" : "Side by side";
    activate(last);
    for (const picture of pictures) {
      picture.resize();
      picture.fit(false);
    }
    last.select({ kind: "model" });
  };
  app.onTheme.push(() => {
    for (const side of /** @type {Side[]} */ (["merged", "a", "b"])) {
      const shown = apps[side];
      if (shown) shown.drawing.theme = shown.scene.model.themes[app.drawing.theme.is_dark ? "dark" : "light"];
      colour(side);
    }
    legend(app);
  });
  app.panelParts.push(partsOf("merged"));
  await colour("merged");
  legend(app);
  app.select(app.selection);
}

/** @param {App} app */
function legend(app) {
  const shade = app.drawing.theme.is_dark ? "dark" : "light";
  byId("legend").replaceChildren(...Object.values(STATUS).map((status) => {
    const swatch = make("i");
    swatch.style.background = status[shade];
    swatch.style.borderColor = status.ring;
    return make("span", {}, swatch, status.words);
  }));
}

/**
 * @param {any} found
 * @param {string[]} titles
 * @param {(entry: Difference) => void} go
 */
function listPart(found, titles, go) {
  const heading = make("h1", {}, `${titles[0]} → ${titles[1]}`);
  if (!found.count) return [heading, make("p", {}, "the models are the same")];
  const rest = found.count - found.entries.length;
  return [
    heading, make("h2", {}, `${found.count} differences`),
    ...found.entries.map((/** @type {Difference} */ entry) => {
      const isPlaced = entry.merged !== null || entry.a !== null || entry.b !== null;
      const title = isPlaced ? make("button", { class: "link", onclick: () => go(entry) }, entry.title) : make("span", {}, entry.title);
      return make("div", { class: `difference ${entry.status}` }, title, ...entry.changes.map((change) => changeLine(change, entry)));
    }),
    rest > 0 ? make("p", { class: "faint" }, `and ${rest} more`) : make("span"),
  ];
}

/** @param {Difference} entry */
function entryPart(entry) {
  return make("div", { class: `difference ${entry.status}` }, make("b", {}, `${STATUS[entry.status].words}: ${entry.title}`), ...entry.changes.map((change) => changeLine(change, entry)));
}

/**
 * @param {Difference["changes"][0]} change
 * @param {Difference} entry
 */
function changeLine(change, entry) {
  const parts = [make("span", { class: "faint" }, change.name === entry.title ? `${change.kind} ` : `${change.kind} ${change.name} `)];
  if (change.before !== null) parts.push(make("del", {}, change.before));
  if (change.before !== null && change.after !== null) parts.push(" → ");
  if (change.after !== null) parts.push(make("ins", {}, change.after));
  if (change.numbers) parts.push(make("div", { class: "faint" }, change.numbers));
  return make("div", {}, ...parts);
}
