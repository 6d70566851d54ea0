// Showing a model anew after it was changed: what was open is open again, and what was selected stays where it was.
// @ts-check
import { byId } from "./elements.js";
import { markProblems } from "./problems.js";
import { advance, reflow } from "./reflow.js";
import { newestScene } from "./scene.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./reflow.js").Instance} Instance
 */

/**
 * Fetch the newest version of the model and show it.
 * @param {App} app
 * @param {string[]} [names]  of nodes or values, of which the first that is there is selected
 */
export async function showNewest(app, names = []) {
  const paths = openPaths(app.root);
  const anchor = await anchorOf(app);
  const scene = await newestScene();
  app.replace(scene);
  byId("facts").textContent = scene.model.facts;
  await reopen(app, app.root, paths);
  reflow(app.root);
  advance(app.root, 1);
  const selected = await find(app, [...names, ...(anchor ? [anchor.name] : [])]);
  if (selected && anchor) {
    const { x, y } = app.corner(selected.instance, selected.item, "now");
    app.camera.x += x - anchor.x;
    app.camera.y += y - anchor.y;
  }
  app.select(selected ? { kind: "item", ...selected } : { kind: "model" });
  app.redraw();
  await Promise.all([scene.fetchTypes(), markProblems(app)]);
  app.redraw();
}

/**
 * The titles of open groups, from the outside.
 * @param {Instance} instance
 * @param {string[]} [above]
 * @returns {Map<string, number>}  with the member of a repeat that is drawn
 */
function openPaths(instance, above = []) {
  /** @type {Map<string, number>} */
  const paths = new Map();
  for (const [item, inner] of instance.inner) {
    const path = [...above, keyOf(instance, item)];
    paths.set(path.join("\n"), inner.chosen);
    for (const [key, chosen] of openPaths(inner, path)) paths.set(key, chosen);
  }
  return paths;
}

/**
 * What an item is known by in another version: its title without the number of repeats, and which of that title it is.
 * @param {Instance} instance
 * @param {number} item
 */
function keyOf(instance, item) {
  const title = (/** @type {number} */ i) => instance.level.items[i].title.replace(/ × \d+$/, "");
  let count = 0;
  for (let i = 0; i < item; i++) if (instance.level.items[i].opens !== null && title(i) === title(item)) count++;
  return `${title(item)}\t${count}`;
}

/**
 * @param {App} app
 * @param {Instance} instance
 * @param {Map<string, number>} paths
 * @param {string[]} [above]
 */
async function reopen(app, instance, paths, above = []) {
  for (let item = 0; item < instance.level.items.length; item++) {
    if (instance.level.items[item].opens === null) continue;
    const path = [...above, keyOf(instance, item)], chosen = paths.get(path.join("\n"));
    if (chosen === undefined) continue;
    const inner = await app.open(instance, item, Math.min(chosen, Math.max(0, instance.level.items[item].members.length - 1)));
    if (!inner) continue;
    inner.alpha = 1;
    await reopen(app, inner, paths, path);
  }
}

/** @param {App} app */
async function anchorOf(app) {
  const selection = app.selection;
  if (selection.kind !== "item") return null;
  const item = selection.instance.level.items[selection.item];
  if (item.number < 0) return null;
  const { names } = await app.scene.index();
  return { name: names[item.number], ...app.corner(selection.instance, selection.item, "now") };
}

/**
 * The item of the first of these names that is drawn.
 * @param {App} app
 * @param {string[]} wanted
 * @returns {Promise<{instance: Instance, item: number} | null>}
 */
async function find(app, wanted) {
  if (!wanted.length) return null;
  const { names } = await app.scene.index();
  for (const name of wanted) {
    const leaf = names.indexOf(name);
    if (leaf < 0) continue;
    const pending = [app.root];
    for (let instance = pending.pop(); instance; instance = pending.pop()) {
      const item = instance.level.items.findIndex((each) => each.number === leaf);
      if (item >= 0) return { instance, item };
      pending.push(...instance.inner.values());
    }
  }
  return null;
}
