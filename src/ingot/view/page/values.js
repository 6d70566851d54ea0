// What values were in a run: statistics, histograms, scores with labels, vectors, feature maps and heads of attention.
// @ts-check
import { make } from "./elements.js";
import { heatMap, histogram, strip } from "./pictures.js";
import { isPinned, togglePin } from "./pins.js";
import { runs, tab } from "./runs.js";

/** @typedef {import("./app.js").App} App */

/** @type {Map<number, number>} which tile of a value is looked at by itself */
const tiles = new Map();

/**
 * The part of the panel that shows values of the last run.
 * @param {App} app
 * @param {number[]} values
 * @returns {Node[]}
 */
export function valuePanel(app, values) {
  const known = values.filter((value) => app.scene.ranges.has(value));
  if (!known.length || !runs.last) return [];
  return [make("h2", {}, "In the last run"), ...known.map((value) => valueCard(app, value))];
}

/**
 * A value of the last run, with what it was fetched and filled in.
 * @param {App} app
 * @param {number} value
 * @param {boolean} [isSmall]
 */
export function valueCard(app, value, isSmall = false) {
  const place = make("div", { class: `port flowed${isSmall ? " small" : ""}`, "data-value": String(value) }, make("p", { class: "faint" }, "…"));
  const run = runs.last?.number;
  app.scene.get(`result/${tab}/${run}/${value}`)
    .then((found) => place.replaceChildren(...flowed(app, value, run || 0, found, isSmall)))
    .catch((error) => place.replaceChildren(make("p", { class: "bad" }, error.message)));
  return place;
}

/**
 * @param {App} app
 * @param {number} value
 * @param {number} run
 * @param {any} found
 * @param {boolean} isSmall
 * @returns {Node[]}
 */
function flowed(app, value, run, found, isSmall) {
  const name = app.scene.names.get(value) || "?";
  const pin = make("button", { class: `pin${isPinned(value) ? " on" : ""}`, title: "keep it in sight", onclick: () => {
    togglePin(app, value);
    pin.classList.toggle("on", isPinned(value));
  } }, isPinned(value) ? "Pinned" : "Pin");
  const file = app.scene.address(`flow/${tab}/${run}/${value}`);
  const download = file && !isSmall ? make("a", { href: file, download: `${name.replace(/[^\w.-]+/g, "_").slice(-80) || "value"}.npy` }, "download .npy") : null;
  const title = make("div", { class: "row title" }, make("button", { class: "link", onclick: () => app.select({ kind: "value", value }) }, make("b", {}, name)), pin, download);
  const parts = [title];
  const facts = isSmall ? found.facts.filter((/** @type {string[]} */ row) => ["shape", "minimum", "maximum", "NaN", "infinities"].includes(row[0])) : found.facts;
  if (isSmall) parts.push(make("p", { class: "faint" }, facts.map((/** @type {string[]} */ row) => (row[0] === "shape" ? row[1] : `${row[0].slice(0, 3)} ${row[1]}`)).join(" · ")));
  else parts.push(make("table", {}, ...facts.map((/** @type {string[]} */ row) => make("tr", { class: ["NaN", "infinities"].includes(row[0]) ? "bad" : "" }, make("td", {}, row[0]), make("td", {}, row[1])))));
  if (found.colours) parts.push(heatMap(found.colours));
  if (found.bars.length) parts.push(scoreBars(isSmall ? found.bars.slice(0, 5) : found.bars));
  else if (found.vector) parts.push(strip(found.vector));
  if (found.histogram && found.histogram.length && !isSmall) parts.push(histogram(found.histogram, found.low, found.high));
  if (found.picture) parts.push(tilePart(app.scene, value, run, found));
  return parts;
}

/**
 * All tiles of a picture, or one of them, chosen by a selector.
 * @param {import("./scene.js").Scene} scene
 * @param {number} value
 * @param {number} run
 * @param {any} found
 */
function tilePart(scene, value, run, found) {
  const place = make("div", {}, heatMap(found.picture));
  if (!found.tiles) return place;
  const show = async () => {
    const tile = tiles.get(value) ?? -1;
    shown.textContent = tile < 0 ? `all ${found.tile}s` : `${found.tile} ${tile + 1} of ${found.tiles}`;
    try {
      const picture = tile < 0 ? found.picture : (await scene.get(`result/${tab}/${run}/${value}/${tile}`)).picture;
      place.replaceChildren(heatMap(picture));
    } catch (error) {
      place.replaceChildren(make("p", { class: "bad" }, /** @type {Error} */ (error).message));
    }
  };
  const step = (/** @type {number} */ by) => {
    const count = found.tiles + 1;
    tiles.set(value, (((tiles.get(value) ?? -1) + 1 + by + count) % count) - 1);
    range.value = String((tiles.get(value) ?? -1) + 1);
    show();
  };
  const shown = make("span", { class: "faint" });
  const range = make("input", { type: "range", class: "tiles", min: 0, max: found.tiles, value: (tiles.get(value) ?? -1) + 1, "data-tile": found.tile, oninput: () => {
    tiles.set(value, Number(range.value) - 1);
    show();
  } });
  show();
  return make("div", {}, make("div", { class: "row chooser" }, make("button", { onclick: () => step(-1), title: "the one before" }, "‹"), range, make("button", { onclick: () => step(1), title: "the next" }, "›"), shown), place);
}

/** @param {[string, number][]} rows */
function scoreBars(rows) {
  const low = Math.min(0, ...rows.map((row) => row[1])), most = Math.max(1e-9, ...rows.map((row) => row[1] - low));
  return make("div", { class: "bars scores" }, ...rows.flatMap(([place, amount]) => {
    const bar = make("i");
    bar.style.width = `${(100 * (amount - low)) / most}%`;
    return [make("span", { title: place }, place), bar, make("span", { class: "faint" }, amount.toPrecision(4))];
  }));
}
