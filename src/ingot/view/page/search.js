// Search over names, operators, types and sizes of all nodes and values, and over the groups that they are in.
// @ts-check
import { byId, make } from "./elements.js";
import { activeApp } from "./input.js";

const MOST_HITS = 60;

/** Of these, groups of exactly the name that is looked for, nodes by what they are themselves, and other groups. */
const MOST_NAMED = 12, MOST_OWN = 36, MOST_GROUPS = 12;

/** Groups around a node that it is found by. */
const MOST_AROUND = 12;

/**
 * @typedef {{names: string[], operators: string[], outputs: string[], types: string[], levels: number[], around: (number | null)[], headings: [string, string][]}} Index
 * @typedef {{own: string[], headings: string[], paths: string[]}} Texts  of leaves, and of levels by themselves and with what is around
 * @typedef {{leaf: number} | {level: number}} Hit
 */

/** Search in the picture that is acted on. */
export function searching() {
  const input = byId("search"), list = byId("hits");
  /** @type {Hit[]} */
  let hits = [];
  let chosen = 0;

  const choose = (/** @type {number} */ place) => {
    chosen = Math.max(0, Math.min(place, hits.length - 1));
    [...list.children].forEach((element, i) => {
      element.classList.toggle("chosen", i === chosen);
      element.ariaSelected = String(i === chosen);
    });
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", list.children[chosen]?.id || "");
  };
  const show = (/** @type {boolean} */ isShown) => {
    list.hidden = !isShown;
    input.ariaExpanded = String(isShown);
  };
  const close = () => show(false);
  const go = (/** @type {number} */ place) => {
    const hit = hits[place];
    if (!hit) return; // the list says so
    if ("leaf" in hit) activeApp().reveal(hit.leaf);
    else activeApp().revealLevel(hit.level);
    close();
    activeApp().canvas.focus();
  };
  const search = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    const index = await activeApp().scene.index();
    hits = found(index, words);
    const option = (/** @type {number} */ i, /** @type {string[]} */ ...[kind, name, more]) => make("li", { id: `hit-${i}`, role: "option", onmousedown: () => go(i) }, make("b", {}, kind), name, make("span", {}, `  ${more}`));
    list.replaceChildren(...hits.map((hit, i) => ("leaf" in hit ? option(i, index.operators[hit.leaf], index.names[hit.leaf], index.outputs[hit.leaf]) : option(i, "group", ...placed(index, hit.level)))));
    if (!hits.length) list.replaceChildren(make("li", {}, "nothing has this name, operator, type or size"));
    show(true);
    choose(0);
  };
  let searched = Promise.resolve();
  input.addEventListener("input", () => (searched = search()));
  input.addEventListener("blur", () => setTimeout(() => document.activeElement !== input && close(), 150)); // it may be typed into again
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Enter") searched.then(() => go(chosen)); // the list may be on its way
    else if (event.key === "Escape") {
      close();
      activeApp().canvas.focus();
    } else return;
    event.preventDefault();
  });
}

/** @type {WeakMap<Index, Texts>} */
const known = new WeakMap();

/**
 * The nodes and groups that have all of some words in lower case, those first that are called so themselves.
 * @param {Index} index
 * @param {string[]} words
 * @returns {Hit[]}
 */
function found(index, words) {
  const texts = known.get(index) || textsOf(index), name = words.join(" ");
  known.set(index, texts);
  const has = (/** @type {string} */ text) => words.every((word) => text.includes(word));
  /** @type {{named: Hit[], own: Hit[], groups: Hit[], inside: Hit[]}} */
  const hits = { named: [], own: [], groups: [], inside: [] };
  texts.headings.forEach((heading, level) => {
    if (index.around[level] === null) return; // the model, or a function that nothing calls
    if (index.headings[level][0].toLowerCase() === name) hits.named.push({ level });
    else if (words.some((word) => heading.includes(word)) && has(texts.paths[level])) hits.groups.push({ level });
  });
  for (let leaf = 0; leaf < texts.own.length && hits.own.length < MOST_HITS; leaf++) {
    if (has(texts.own[leaf])) hits.own.push({ leaf });
    else if (hits.inside.length < MOST_HITS && has(`${texts.own[leaf]} ${texts.paths[index.levels[leaf]]}`)) hits.inside.push({ leaf });
  }
  const { named, own, groups, inside } = hits;
  return [...named.slice(0, MOST_NAMED), ...own.slice(0, MOST_OWN), ...groups.slice(0, MOST_GROUPS), ...own.slice(MOST_OWN), ...inside].slice(0, MOST_HITS);
}

/**
 * @param {Index} index
 * @returns {Texts}
 */
function textsOf(index) {
  const headings = index.headings.map((heading) => heading.join(" ").toLowerCase());
  return {
    own: index.names.map((name, leaf) => `${name} ${index.operators[leaf]} ${index.outputs[leaf]} ${index.types[leaf]}`.toLowerCase()),
    headings,
    paths: headings.map((_, level) => chain(index, level).map((each) => headings[each]).join("/")),
  };
}

/**
 * The levels around one and itself, without the model.
 * @param {Index} index
 * @param {number} level
 */
function chain(index, level) {
  const levels = [];
  for (let next = level; index.around[next] !== null && levels.length < MOST_AROUND; next = /** @type {number} */ (index.around[next])) levels.unshift(next);
  return levels;
}

/**
 * The name of a group, and its class and what is around it.
 * @param {Index} index
 * @param {number} level
 */
function placed(index, level) {
  const [title, kind] = index.headings[level], around = chain(index, level).slice(0, -1).map((each) => index.headings[each][0]);
  return [title, `${kind}${around.length ? `  in ${around.join("/")}` : ""}`];
}
