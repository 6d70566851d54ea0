// Colours of leaves that something is to be said about, and of the groups that they are inside of.
// @ts-check

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Item} Item
 * @typedef {{leaves: Map<number, string>, levels: Map<number, string>}} Marks
 */

/**
 * Marks for leaves; a group has the colour of the first of `order` that is inside of it.
 * @param {Scene} scene
 * @param {Map<number, string>} leaves
 * @param {string[]} order
 * @returns {Promise<Marks>}
 */
export async function marksFor(scene, leaves, order) {
  /** @type {Map<number, string>} */
  const levels = new Map();
  if (!leaves.size) return { leaves, levels };
  const index = await scene.index();
  for (const [leaf, colour] of leaves) {
    for (let level = index.levels[leaf], steps = 0; level !== null && steps < 200; level = index.around[level], steps++) {
      const known = levels.get(level);
      if (known === undefined || order.indexOf(colour) < order.indexOf(known)) levels.set(level, colour);
    }
  }
  return { leaves, levels };
}

/**
 * @param {Marks} marks
 * @param {Item} item
 * @returns {string | undefined}
 */
export function markOf(marks, item) {
  const own = item.number >= 0 ? marks.leaves.get(item.number) : undefined;
  return own ?? (item.opens === null ? undefined : marks.levels.get(item.opens));
}
