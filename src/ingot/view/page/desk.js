// The desk below the graph: tabs of costs, a timeline, a roofline, differences and pinned values.
// @ts-check
import { byId, make } from "./elements.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {{name: string, title: string, show: () => Node[], shown?: (place: HTMLElement) => void}} Tab
 */

/** @type {Map<string, Tab>} */
const tabs = new Map();
let currentTab = "";

/** @param {Tab} tab */
export function addTab(tab) {
  tabs.set(tab.name, tab);
}

/**
 * Show a tab of the desk.
 * @param {App} app
 * @param {string} name
 */
export function openDesk(app, name) {
  const isNew = !currentTab;
  currentTab = name;
  byId("main").classList.add("desk-open");
  const bar = make("div", { class: "tabs", role: "tablist" }, ...[...tabs.values()].map((tab) => make("button", { role: "tab", ariaSelected: String(tab.name === currentTab), class: tab.name === currentTab ? "on" : "", "data-tab": tab.name, onclick: () => openDesk(app, tab.name) }, tab.title)),
    make("span", { class: "gap" }), make("button", { class: "close", title: "Close", onclick: closeDesk }, "×"));
  byId("desk").replaceChildren(bar, make("div", { class: "sheet" }));
  refreshDesk(name);
  app.resize();
  if (isNew && app.selection.kind === "model") app.fit(false);
}

/** Close the desk. */
export function closeDesk() {
  currentTab = "";
  byId("main").classList.remove("desk-open");
  byId("desk").replaceChildren();
}

/** Which tab is open; empty if the desk is closed. */
export function openTab() {
  return currentTab;
}

/**
 * Fill a tab again, if it is the open one.
 * @param {string} name
 */
export function refreshDesk(name) {
  const tab = tabs.get(name), sheet = document.querySelector("#desk .sheet");
  if (!tab || name !== currentTab || !(sheet instanceof HTMLElement)) return;
  const top = sheet.scrollTop;
  sheet.dataset.tab = name;
  sheet.replaceChildren(...tab.show());
  sheet.scrollTop = top;
  if (tab.shown) tab.shown(sheet);
}
