// Deep links: the selection as the fragment of the address, which back and forward go through.
// @ts-check
import { announce } from "./elements.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app */
export async function linking(app) {
  let isFollowing = false;
  app.onSelect.push(async () => {
    if (isFollowing) return;
    const fragment = await written(app);
    if (fragment !== location.hash) history.pushState(null, "", fragment || location.pathname + location.search);
  });
  const follow = async () => {
    isFollowing = true;
    try {
      await read(app, location.hash);
    } finally {
      isFollowing = false;
    }
  };
  addEventListener("popstate", follow);
  if (location.hash) await follow();
}

/** @param {App} app */
async function written(app) {
  const selection = app.selection;
  if (selection.kind === "model") return "";
  if (selection.kind === "value") return `#value=${encodeURIComponent(app.scene.names.get(selection.value) || "")}`;
  const item = selection.instance.level.items[selection.item];
  if (item.number < 0) return `#group=${item.opens}`;
  const { names } = await app.scene.index();
  return `#node=${encodeURIComponent(names[item.number])}`;
}

/**
 * @param {App} app
 * @param {string} hash
 */
async function read(app, hash) {
  const key = hash.slice(1).split("=", 1)[0], name = decoded(hash.slice(key.length + 2));
  if (key === "node") {
    const leaf = (await app.scene.index()).names.indexOf(name);
    if (leaf >= 0) await app.reveal(leaf);
    else announce(`there is no node '${name}' in this model`, true);
  } else if (key === "group") await app.revealLevel(Number(name));
  else if (key === "value") {
    const known = () => [...app.scene.names].find((entry) => entry[1] === name);
    if (!known()) {
      const leaf = (await app.scene.index()).outputs.findIndex((/** @type {string} */ text) => text.split(" ").includes(name));
      if (leaf >= 0) await app.reveal(leaf); // whose level has the value
    }
    const found = known();
    if (found) app.select({ kind: "value", value: found[0] });
    else announce(`there is no value '${name}' in this model`, true);
  } else app.select({ kind: "model" });
}

/**
 * The text of a link; as it is, if somebody wrote it by hand.
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
