// Search over names, operators, types and sizes of all nodes and values.
// @ts-check
import { byId, make } from "./elements.js";
import { activeApp } from "./input.js";

const MOST_HITS = 60;

/** Search in the picture that is acted on. */
export function searching() {
  const input = byId("search"), list = byId("hits");
  /** @type {number[]} */
  let leaves = [];
  let chosen = 0;

  const choose = (/** @type {number} */ place) => {
    chosen = Math.max(0, Math.min(place, leaves.length - 1));
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
    if (leaves[place] !== undefined) activeApp().reveal(leaves[place]);
    close();
    activeApp().canvas.focus();
  };
  const search = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    const index = await activeApp().scene.index();
    leaves = [];
    for (let leaf = 0; leaf < index.names.length && leaves.length < MOST_HITS; leaf++) {
      const text = `${index.names[leaf]} ${index.operators[leaf]} ${index.outputs[leaf]} ${index.types[leaf]}`.toLowerCase();
      if (words.every((/** @type {string} */ word) => text.includes(word))) leaves.push(leaf);
    }
    list.replaceChildren(
      ...leaves.map((leaf, i) => make("li", { id: `hit-${i}`, role: "option", onmousedown: () => go(i) }, make("b", {}, index.operators[leaf]), index.names[leaf], make("span", {}, `  ${index.outputs[leaf]}`))),
    );
    if (!leaves.length) list.replaceChildren(make("li", {}, "nothing has this name, operator, type or size"));
    show(true);
    choose(0);
  };
  let searched = Promise.resolve();
  input.addEventListener("input", () => (searched = search()));
  input.addEventListener("blur", () => setTimeout(close, 150));
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
