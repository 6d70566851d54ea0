// Elements of the page: what comes from a model becomes text, never markup.
// @ts-check

/**
 * A new element.
 * @param {string} tag
 * @param {Record<string, any>} properties  `class`, `on…` listeners, `data-…`; anything else is a property
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {any}
 */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("data-")) element.setAttribute(name, value);
    else /** @type {any} */ (element)[name] = value;
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child instanceof Node ? child : document.createTextNode(visible(String(child))));
  return element;
}

/**
 * A text whose marks for the direction of writing are spelled out: they would show another name than it is.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * The element with an id.
 * @param {string} id
 * @returns {any}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`no element '${id}'`);
  return element;
}

/** @type {number} */
let hiding = 0;

/**
 * Show a message for a while.
 * @param {string} text
 * @param {boolean} [isBad]
 */
export function announce(text, isBad = false) {
  const element = byId("message");
  element.textContent = visible(text);
  element.className = isBad ? "bad" : "";
  element.hidden = false;
  clearTimeout(hiding);
  hiding = window.setTimeout(() => (element.hidden = true), isBad ? 8000 : 3000);
}
