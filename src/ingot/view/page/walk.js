// From what is selected to what it reads, to who reads it, and to its neighbours.
// @ts-check

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./reflow.js").Instance} Instance
 */

/**
 * The item beside the selected one: its producer or reader, or its neighbour in the row.
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
  const { instance, item } = selection, { level } = instance;
  let next = -1;
  if (direction === "up") next = level.tracks.find((track) => track.targets.includes(item) && level.items[track.source].width)?.source ?? -1;
  else if (direction === "down") next = level.tracks.find((track) => track.source === item && track.targets.some((t) => level.items[t].width))?.targets.find((t) => level.items[t].width) ?? -1;
  else {
    const row = level.rows[level.ranks[item]].filter((vertex) => vertex >= 0 && level.items[vertex].width);
    next = row[row.indexOf(item) + (direction === "left" ? -1 : 1)] ?? -1;
  }
  if (next >= 0) bring(app, instance, next);
  else if (instance.parent && (direction === "up" || direction === "down")) bring(app, instance.parent, instance.item);
}

/**
 * Select an item, and move only if it is out of sight.
 * @param {App} app
 * @param {Instance} instance
 * @param {number} item
 */
function bring(app, instance, item) {
  app.select({ kind: "item", instance, item });
  const { x, y } = app.corner(instance, item, "then"), scale = app.camera.scale;
  const sx = (x - app.camera.x) * scale, sy = (y - app.camera.y) * scale;
  if (sx < 60 || sy < 40 || sx > app.width - 60 || sy > app.height - 80)
    app.move({ scale, x: x - app.width / 2 / scale, y: y - app.height / 2 / scale });
}
