// Where everything stands once groups are open: as `reflow.py`, which a test compares this with.
// @ts-check

/** @typedef {import("./scene.js").Level} Level */

export const BOX_GAP = 22, LINE_GAP = 11, ROW_GAP = 30, HEADER = 28, MARGIN = 16, NARROWEST = 60, CHOSEN = 120;

/**
 * A level in the picture: `inner` has those of its items that are open, `chosen` the member of a repeat that is drawn.
 */
export class Instance {
  /**
   * @param {Level} level
   * @param {Instance | null} parent
   * @param {number} item  the item of the parent that this is the inside of
   */
  constructor(level, parent, item) {
    this.level = level;
    this.parent = parent;
    this.item = item;
    /** @type {Map<number, Instance>} */
    this.inner = new Map();
    this.chosen = 0;
    this.alpha = 1;
    /** @type {Geometry} */
    this.now = new Geometry();
    /** @type {Geometry} */
    this.then = this.now;
    /** @type {Geometry} */
    this.before = this.now;
  }

  /** The titles from the root to here. */
  get depth() {
    let depth = 0;
    for (let at = this.parent; at; at = at.parent) depth++;
    return depth;
  }
}

export class Geometry {
  constructor() {
    this.width = 0;
    this.height = 0;
    /** @type {number[]} */ this.lefts = [];
    /** @type {number[]} */ this.tops = [];
    /** @type {number[]} */ this.widths = [];
    /** @type {number[]} */ this.heights = [];
    /** @type {number[]} */ this.rowTops = [];
    /** @type {number[]} */ this.rowHeights = [];
    /** @type {number[][]} */ this.bends = [];
  }
}

/**
 * Set `then` of an instance and of all that are open inside of it.
 * @param {Instance} instance
 * @returns {Geometry}
 */
export function reflow(instance) {
  const { level, inner } = instance;
  const placed = new Geometry();
  const count = level.items.length;
  for (let i = 0; i < count; i++) {
    const open = inner.get(i);
    const box = open ? reflow(open) : level.items[i];
    placed.widths.push(box.width);
    placed.heights.push(box.height);
  }
  const centres = level.centres.slice();
  const bends = level.tracks.map((track) => track.bends.map((bend) => bend[1]));
  for (const row of level.rows) if (inner.size && row.some((vertex) => inner.has(vertex))) pushApart(row, centres, bends, level.bends, placed.widths);
  const isRoot = !instance.parent;
  const margin = isRoot ? 0 : MARGIN;
  let left = Infinity, right = -Infinity;
  for (let i = 0; i < count; i++) {
    left = Math.min(left, centres[i] - placed.widths[i] / 2);
    right = Math.max(right, centres[i] + placed.widths[i] / 2);
  }
  for (const track of bends) for (const x of track) { left = Math.min(left, x); right = Math.max(right, x); }
  if (left > right) left = right = 0;
  left -= margin;
  right += margin;
  const around = instance.parent?.level.items[instance.item];
  const least = around ? Math.max(NARROWEST, around.width + (around.members.length ? CHOSEN : 0)) : NARROWEST;
  left -= Math.max(0, least - (right - left)) / 2;
  placed.width = Math.max(right - left, least);
  let y = isRoot ? 0 : HEADER;
  for (const row of level.rows) {
    let tallest = 0;
    for (const vertex of row) if (vertex >= 0) tallest = Math.max(tallest, placed.heights[vertex]);
    placed.rowTops.push(y);
    placed.rowHeights.push(tallest);
    y += tallest + (tallest ? ROW_GAP : ROW_GAP / 2);
  }
  const last = placed.rowHeights.length ? placed.rowHeights[placed.rowHeights.length - 1] : 0;
  placed.height = y - (last ? ROW_GAP : ROW_GAP / 2) + (last ? margin : 0);
  for (let i = 0; i < count; i++) {
    const rank = level.ranks[i], kind = level.items[i].kind;
    placed.lefts.push(centres[i] - placed.widths[i] / 2 - left);
    placed.tops.push(kind === "port in" ? 0 : kind === "port out" ? placed.height : placed.rowTops[rank] + (placed.rowHeights[rank] - placed.heights[i]) / 2);
  }
  placed.bends = bends.map((track) => track.map((x) => x - left));
  instance.then = placed;
  return placed;
}

/**
 * Move what stands beside the widest box of a row outwards, as far as the boxes need it.
 * @param {number[]} row
 * @param {number[]} centres
 * @param {number[][]} bends
 * @param {[number, number][]} bendOf
 * @param {number[]} widths
 */
function pushApart(row, centres, bends, bendOf, widths) {
  const x = (/** @type {number} */ v) => (v >= 0 ? centres[v] : bends[bendOf[-1 - v][0]][bendOf[-1 - v][1]]);
  const move = (/** @type {number} */ v, /** @type {number} */ to) => {
    if (v >= 0) centres[v] = to;
    else bends[bendOf[-1 - v][0]][bendOf[-1 - v][1]] = to;
  };
  const half = (/** @type {number} */ v) => (v >= 0 && widths[v] ? (widths[v] + BOX_GAP) / 2 : LINE_GAP / 2);
  let pivot = 0;
  for (let i = 1; i < row.length; i++) if (half(row[i]) > half(row[pivot])) pivot = i;
  for (let i = pivot + 1; i < row.length; i++) move(row[i], Math.max(x(row[i]), x(row[i - 1]) + half(row[i - 1]) + half(row[i])));
  for (let i = pivot - 1; i >= 0; i--) move(row[i], Math.min(x(row[i]), x(row[i + 1]) - half(row[i + 1]) - half(row[i])));
}

/**
 * A step of the way from `before` to `then`, into `now`, of an instance and of all inside.
 * @param {Instance} instance
 * @param {number} t  0 to 1
 */
export function advance(instance, t) {
  const { before, then } = instance;
  if (t >= 1 || before === then || before.lefts.length !== then.lefts.length) instance.now = then;
  else {
    const now = new Geometry(), mix = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * t;
    now.width = mix(before.width, then.width);
    now.height = mix(before.height, then.height);
    for (const key of /** @type {const} */ (["lefts", "tops", "widths", "heights", "rowTops", "rowHeights"])) now[key] = then[key].map((to, i) => mix(before[key][i], to));
    now.bends = then.bends.map((track, i) => track.map((to, j) => mix(before.bends[i][j], to)));
    instance.now = now;
  }
  if (instance.alpha < 1) instance.alpha = Math.min(1, Math.max(instance.alpha, t));
  for (const open of instance.inner.values()) advance(open, t);
}

/**
 * Take what is drawn now as the begin of the next animation.
 * @param {Instance} instance
 */
export function freeze(instance) {
  instance.before = instance.now;
  for (const open of instance.inner.values()) freeze(open);
}

/**
 * The top left corner of an instance in the picture.
 * @param {Instance} instance
 * @param {"now" | "then"} when
 * @returns {{x: number, y: number}}
 */
export function origin(instance, when) {
  let x = 0, y = 0;
  for (let at = instance; at.parent; at = at.parent) {
    x += at.parent[when].lefts[at.item];
    y += at.parent[when].tops[at.item];
  }
  return { x, y };
}
