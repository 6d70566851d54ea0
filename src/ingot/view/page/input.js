// What the mouse, the wheel and the keys do.
// @ts-check
import { byId, make } from "./elements.js";
import { hit } from "./hits.js";
import { walk } from "./walk.js";

/** @typedef {import("./app.js").App} App */

const KEYS = [
  ["/", "search"], ["↑ ↓", "to what computes the input, or reads the output; down from an open group, inside"], ["← →", "to the neighbour"], ["Enter", "open or close the selected group"],
  ["[  ]", "the one before or after, of equal parts"], ["F", "fit the picture"], ["+ −", "zoom"], ["E", "open all"], ["C", "close all"], ["Esc", "select the model"],
  ["Alt ← →", "back and forward"], ["M", "edit"], ["Ctrl Z  Ctrl Y", "undo and redo an edit"], ["R", "run the model"], ["T", "time it: what each node costs"], ["D", "light or dark"], ["P", "panel"], ["?", "this list"],
];

/** @type {App} whose picture keys and buttons act on */
let active;

/** The picture that keys and buttons act on, and whose selection the panel shows. */
export function activeApp() {
  return active;
}

/**
 * Let keys and buttons act on a picture.
 * @param {App} app
 */
export function activate(app) {
  active = app;
}

/**
 * Let a pointer and its wheel move a picture and select in it.
 * @param {App} app
 */
export function touching(app) {
  pointing(app);
  app.canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const isWheel = event.deltaMode !== 0 || (event.deltaX === 0 && Math.abs(event.deltaY) >= 80);
    if (event.ctrlKey) app.zoom(Math.exp(-event.deltaY / 120), event.offsetX, event.offsetY);
    else if (isWheel && !event.shiftKey) app.zoom(event.deltaY > 0 ? 0.8 : 1.25, event.offsetX, event.offsetY);
    else app.pan(-event.deltaX, -event.deltaY);
  }, { passive: false });
}

/** @param {App} app */
export function listening(app) {
  activate(app);
  touching(app);
  new ResizeObserver(() => app.resize()).observe(app.canvas);
  addEventListener("keydown", (event) => keyed(active, event));
  byId("fit").onclick = () => active.fit();
  byId("open-all").onclick = () => active.openAll();
  byId("close-all").onclick = () => active.closeAll();
  byId("back").onclick = () => history.back();
  byId("forward").onclick = () => history.forward();
  byId("theme").onclick = () => dress(app, app.drawing.theme.is_dark ? "light" : "dark");
  byId("help").onclick = () => help();
  dress(app, matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

/**
 * @param {App} app
 * @param {"light" | "dark"} theme
 */
export function dress(app, theme) {
  document.documentElement.dataset.theme = theme;
  app.drawing.theme = app.scene.model.themes[theme];
  const families = Object.entries(app.scene.model.families).filter(([name]) => app.scene.model.used.includes(name));
  byId("legend").replaceChildren(...families.map(([, family]) => {
    const swatch = make("i");
    swatch.style.background = family[theme];
    return make("span", {}, swatch, family.name);
  }));
  for (const listener of app.onTheme) listener();
  app.redraw();
}

/** @param {App} app */
function pointing(app) {
  const canvas = app.canvas;
  let isDown = false, moved = 0, lastX = 0, lastY = 0;
  canvas.addEventListener("pointerdown", (event) => {
    activate(app);
    isDown = true;
    moved = 0;
    [lastX, lastY] = [event.offsetX, event.offsetY];
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (isDown) {
      moved += Math.abs(event.offsetX - lastX) + Math.abs(event.offsetY - lastY);
      if (moved > 4) app.pan(event.offsetX - lastX, event.offsetY - lastY);
      [lastX, lastY] = [event.offsetX, event.offsetY];
      return;
    }
    const { spot, value } = hit(app, event.offsetX, event.offsetY);
    canvas.style.cursor = spot || value !== null ? "pointer" : "grab";
    if (spot?.instance !== app.drawing.hovered?.instance || spot?.item !== app.drawing.hovered?.item) {
      app.drawing.hovered = spot;
      app.redraw();
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    isDown = false;
    if (moved > 4) return;
    const { spot, isHeading, value, within } = hit(app, event.offsetX, event.offsetY);
    if (value !== null) return app.select({ kind: "value", value });
    if (!spot) return app.select({ kind: "model" });
    const { instance, item } = spot, width = instance.now.widths[item];
    if (isHeading && within > width - 30) return void app.toggle(instance, item);
    app.select({ kind: "item", instance, item });
  });
  canvas.addEventListener("dblclick", (event) => {
    const { spot } = hit(app, event.offsetX, event.offsetY);
    if (spot) app.toggle(spot.instance, spot.item);
    else app.zoom(1.6, event.offsetX, event.offsetY);
  });
}

/**
 * @param {App} app
 * @param {KeyboardEvent} event
 */
function keyed(app, event) {
  const target = /** @type {HTMLElement} */ (event.target);
  const isLeft = event.key === "Escape" && target.closest("#panel"); // fields to edit that have changed keep theirs
  if (isLeft) app.canvas.focus();
  else if (["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName) || document.querySelector("dialog[open]") || event.ctrlKey || event.metaKey) return;
  if (event.altKey) {
    if (event.key === "ArrowLeft") history.back();
    else if (event.key === "ArrowRight") history.forward();
    else return;
    event.preventDefault();
    return;
  }
  const selection = app.selection, middle = [app.width / 2, app.height / 2];
  /** @type {Record<string, () => void>} */
  const actions = {
    "/": () => byId("search").focus(),
    ArrowUp: () => walk(app, "up"),
    ArrowDown: () => walk(app, "down"),
    ArrowLeft: () => walk(app, "left"),
    ArrowRight: () => walk(app, "right"),
    Enter: () => selection.kind === "item" && app.toggle(selection.instance, selection.item),
    "[": () => selection.kind === "item" && app.turn(selection.instance, selection.item, -1),
    "]": () => selection.kind === "item" && app.turn(selection.instance, selection.item, 1),
    f: () => app.fit(),
    "+": () => app.zoom(1.25, middle[0], middle[1]),
    "=": () => app.zoom(1.25, middle[0], middle[1]),
    "-": () => app.zoom(0.8, middle[0], middle[1]),
    e: () => app.openAll(),
    c: () => app.closeAll(),
    Escape: () => app.select({ kind: "model" }),
    d: () => press("theme"),
    m: () => press("edit"),
    r: () => press("run"),
    t: () => press("profile"),
    p: () => document.body.classList.toggle("no-panel"),
    "?": () => help(),
  };
  const action = actions[event.key];
  if (!action || (event.key === "Enter" && target.closest("button, a, summary, .step"))) return; // these have an Enter of their own
  event.preventDefault();
  action();
}

/**
 * Do what a button does, if it is there.
 * @param {string} id
 */
function press(id) {
  const button = byId(id);
  if (!button.hidden) button.click();
}

function help() {
  const dialog = byId("keys");
  dialog.replaceChildren(make("table", {}, ...KEYS.map(([key, text]) => make("tr", {}, make("td", {}, make("kbd", {}, key)), make("td", {}, text)))));
  dialog.onclick = () => dialog.close();
  dialog.showModal();
}
