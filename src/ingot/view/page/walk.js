// From what is selected to what it reads, to who reads it, and to its neighbours, into open groups and out of them.
// @ts-check

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./reflow.js").Instance} Instance
 * @typedef {{instance: Instance, item: number}} Place
 */

/**
 * Select the item beside the selected one: its producer or reader, or its neighbour in the row.
 *
 * Down from the heading of an open group leads inside, and up from what is first inside to the heading.
 * @param {App} app
 * @param {"up" | "down" | "left" | "right"} direction
 */
export function walk(app, direction) {
  const selection = app.selection;
  if (selection.kind !== "item") {
    const first = app.root.level.items.findIndex((item) => item.width > 0);
    if (first >= 0) app.show(app.root, first);
    return;
  }
  const { instance, item } = selection;
  const next = direction === "up" ? above(instance, item) : direction === "down" ? inside(instance, item) || below(instance, item) : beside(instance, item, direction === "left" ? -1 : 1);
  if (next) bring(app, next);
}

/**
 * What is first inside of an open item.
 * @param {Instance} instance
 * @param {number} item
 * @returns {Place | null}
 */
function inside(instance, item) {
  const inner = instance.inner.get(item);
  const first = inner ? inner.level.rows.flat().find((vertex) => vertex >= 0 && inner.level.items[vertex].width) : undefined;
  return inner && first !== undefined ? { instance: inner, item: first } : null;
}

/**
 * A reader of what an item computes; of what leaves its group, a reader of that.
 * @param {Instance} instance
 * @param {number} item
 * @returns {Place | null}
 */
function below(instance, item) {
  const { level, parent } = instance;
  for (const track of level.tracks) {
    const target = track.source === item ? track.targets.find((each) => level.items[each].width) : undefined;
    if (target !== undefined) return { instance, item: target };
  }
  return parent && below(parent, instance.item);
}

/**
 * What computes the first of what an item reads, inside of open groups too; the heading of its group if that enters there.
 * @param {Instance} instance
 * @param {number} item
 * @returns {Place | null}
 */
function above(instance, item) {
  const { level, parent } = instance, track = level.tracks.find((each) => each.targets.includes(item) && level.items[each.source].width);
  return track ? lastOf(instance, track.source, track.values) : parent && { instance: parent, item: instance.item };
}

/**
 * The item that computes one of some values, the innermost in open groups; of equal parts, one of which is drawn, its last.
 * @param {Instance} instance
 * @param {number} item
 * @param {number[]} values
 * @returns {Place}
 */
function lastOf(instance, item, values) {
  const inner = instance.inner.get(item), tracks = inner?.level.tracks.filter((each) => inner.level.items[each.source].width) || [];
  const track = tracks.find((each) => each.values.some((value) => values.includes(value))) || tracks.find((each) => each.targets.some((target) => inner?.level.items[target].kind === "port out"));
  return inner && track ? lastOf(inner, track.source, track.values) : { instance, item };
}

/**
 * The neighbour in the row.
 * @param {Instance} instance
 * @param {number} item
 * @param {number} step
 * @returns {Place | null}
 */
function beside(instance, item, step) {
  const { level } = instance;
  const row = level.rows[level.ranks[item]].filter((vertex) => vertex >= 0 && level.items[vertex].width);
  const next = row[row.indexOf(item) + step];
  return next === undefined ? null : { instance, item: next };
}

/**
 * Select an item, and move only if it is out of sight.
 * @param {App} app
 * @param {Place} place
 */
function bring(app, { instance, item }) {
  app.select({ kind: "item", instance, item });
  const { x, y } = app.corner(instance, item, "then"), scale = app.camera.scale;
  const sx = (x - app.camera.x) * scale, sy = (y - app.camera.y) * scale;
  if (sx < 60 || sy < 40 || sx > app.width - 60 || sy > app.height - 80)
    app.move({ scale, x: x - app.width / 2 / scale, y: y - app.height / 2 / scale });
}
