// The state of the page: which groups are open, what is selected, and where one looks.
// @ts-check
import { Drawing } from "./draw.js";
import { announce } from "./elements.js";
import { advance, freeze, Instance, origin, reflow } from "./reflow.js";

/**
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./draw.js").Spot} Spot
 * @typedef {{kind: "model"} | {kind: "item", instance: Instance, item: number} | {kind: "value", value: number}} Selection
 */

const ANIMATION = 260;
const MOST_OPENED = 20000;

/** @param {Scene} scene */
function firstInstance(scene) {
  const level = scene.levels.get(scene.model.root);
  if (!level) throw new Error("the first level is missing");
  return new Instance(level, null, -1);
}

export class App {
  /**
   * @param {Scene} scene
   * @param {HTMLCanvasElement} canvas
   */
  constructor(scene, canvas) {
    this.scene = scene;
    this.canvas = canvas;
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser has no canvas");
    this.drawing = new Drawing(scene, context);
    this.camera = { x: 0, y: 0, scale: 1 };
    this.root = firstInstance(scene);
    /** @type {Selection} */
    this.selection = { kind: "model" };
    /** @type {(() => void)[]} */
    this.onSelect = [];
    /** @type {(() => void)[]} */
    this.onFrame = [];
    /** @type {(() => void)[]} */
    this.onTheme = [];
    /** @type {(() => void)[]} called when another scene is shown */
    this.onReplace = [];
    /** @type {((selection: Selection) => Promise<Node[]>)[]} what else the panel shows of a selection, above the rest */
    this.panelParts = [];
    /** Whether the model can be run: not in a saved page, and not beside another. */
    this.isRunnable = false;
    /** The next frame, if one is awaited. */
    this.pending = 0;
    this.width = this.height = this.ratio = 0;
    /** @type {Promise<void>} */
    this.turning = Promise.resolve();
    /** @type {{start: number, from: {x: number, y: number, scale: number}, to: {x: number, y: number, scale: number}} | null} */
    this.motion = null;
    this.openFirst(this.root, new Set(scene.model.opened));
    reflow(this.root);
    advance(this.root, 1);
    this.resize();
    this.fit(false);
  }

  /**
   * Show another scene; nothing is open in it or selected yet.
   * @param {Scene} scene
   */
  replace(scene) {
    this.scene = this.drawing.scene = scene;
    this.root = firstInstance(scene);
    this.motion = null;
    this.selection = { kind: "model" };
    this.drawing.selected = this.drawing.hovered = null;
    this.drawing.followed = new Set();
    reflow(this.root);
    advance(this.root, 1);
    for (const listener of this.onReplace) listener();
  }

  /**
   * Open levels that came with the first data.
   * @param {Instance} instance
   * @param {Set<number>} opened
   */
  openFirst(instance, opened) {
    instance.level.items.forEach((item, number) => {
      if (item.opens === null || !opened.has(item.opens)) return;
      const level = this.scene.levels.get(item.members.length ? item.members[0] : item.opens);
      if (!level) return;
      const inner = new Instance(level, instance, number);
      instance.inner.set(number, inner);
      this.openFirst(inner, opened);
    });
  }

  /** Fill the place of the canvas, if that has changed: what was drawn is lost then. What was in the middle stays there. */
  resize() {
    const { clientWidth, clientHeight } = this.canvas, ratio = window.devicePixelRatio || 1;
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio) return;
    if (this.width && this.height && clientWidth && clientHeight) {
      const dx = (this.width - clientWidth) / 2, dy = (this.height - clientHeight) / 2;
      for (const camera of this.motion ? [this.camera, this.motion.from, this.motion.to] : [this.camera]) {
        camera.x += dx / camera.scale;
        camera.y += dy / camera.scale;
      }
    }
    this.ratio = ratio;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.width = clientWidth;
    this.height = clientHeight;
    this.redraw();
  }

  redraw() {
    if (!this.pending) this.pending = requestAnimationFrame((time) => this.step(time));
  }

  /** Draw at once, without waiting for the browser to ask for a frame. */
  drawNow() {
    cancelAnimationFrame(this.pending);
    this.step(performance.now());
  }

  /** @param {number} time */
  step(time) {
    this.pending = 0;
    if (this.motion) {
      const t = Math.max(0, Math.min(1, (time - this.motion.start) / ANIMATION)), eased = t < 1 ? 1 - (1 - t) ** 3 : 1;
      const { from, to } = this.motion;
      advance(this.root, eased);
      this.camera.scale = from.scale * (to.scale / from.scale) ** eased;
      this.camera.x = from.x + (to.x - from.x) * eased;
      this.camera.y = from.y + (to.y - from.y) * eased;
      if (t >= 1) this.motion = null;
      else this.redraw();
    }
    this.drawing.frame(this.root, this.camera, this.width, this.height, this.ratio);
    for (const listener of this.onFrame) listener();
  }

  /**
   * Move to where a camera looks, and let groups grow or shrink meanwhile.
   * @param {{x: number, y: number, scale: number}} to
   * @param {boolean} [animated]
   */
  move(to, animated = true) {
    if (animated && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.motion = { start: performance.now(), from: { ...this.camera }, to };
    } else {
      this.motion = null;
      this.camera = { ...to };
      advance(this.root, 1);
    }
    this.redraw();
  }

  /** @param {boolean} [animated] */
  fit(animated = true) {
    const { width, height } = this.root.then;
    const scale = Math.min(1.6, (this.width || 1) / (width + 60), (this.height || 1) / (height + 40));
    this.move({ scale, x: width / 2 - this.width / 2 / scale, y: height / 2 - this.height / 2 / scale }, animated);
  }

  /**
   * @param {number} factor
   * @param {number} x  of the canvas, which stays where it is
   * @param {number} y
   */
  zoom(factor, x, y) {
    this.motion = null;
    advance(this.root, 1);
    const scale = Math.min(6, Math.max(0.005, this.camera.scale * factor));
    this.camera.x += x / this.camera.scale - x / scale;
    this.camera.y += y / this.camera.scale - y / scale;
    this.camera.scale = scale;
    this.redraw();
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    if (this.motion) {
      this.motion = null;
      advance(this.root, 1);
    }
    this.camera.x -= dx / this.camera.scale;
    this.camera.y -= dy / this.camera.scale;
    this.redraw();
  }

  /**
   * Lay out again after a change of what is open; an item stays where it is on the screen.
   * @param {Instance} instance
   * @param {number} item
   */
  settle(instance, item) {
    const before = this.corner(instance, item, "now");
    freeze(this.root);
    reflow(this.root);
    const after = this.corner(instance, item, "then");
    this.move({ scale: this.camera.scale, x: this.camera.x + after.x - before.x, y: this.camera.y + after.y - before.y });
  }

  /**
   * The middle of the upper edge of an item in the picture.
   * @param {Instance} instance
   * @param {number} item
   * @param {"now" | "then"} when
   */
  corner(instance, item, when) {
    const { x, y } = origin(instance, when), placed = instance[when];
    return { x: x + placed.lefts[item] + placed.widths[item] / 2, y: y + placed.tops[item] };
  }

  /**
   * Open an item, or close it.
   * @param {Instance} instance
   * @param {number} item
   */
  async toggle(instance, item) {
    if (instance.inner.has(item)) {
      instance.inner.delete(item);
      if (this.selection.kind === "item" && !this.isReachable(this.selection.instance)) this.select({ kind: "item", instance, item });
      this.settle(instance, item);
    } else if (await this.open(instance, item)) this.settle(instance, item);
  }

  /**
   * Open an item without laying out anew; null if there is nothing inside.
   * @param {Instance} instance
   * @param {number} item
   * @param {number} [chosen]  of the members of a repeat
   * @returns {Promise<Instance | null>}
   */
  async open(instance, item, chosen = 0) {
    const { opens, members } = instance.level.items[item];
    if (opens === null) return null;
    const existing = instance.inner.get(item);
    if (existing && (!members.length || existing.chosen === chosen)) return existing;
    try {
      const level = await this.scene.level(members.length ? members[chosen] : opens);
      const inner = new Instance(level, instance, item);
      inner.chosen = chosen;
      inner.alpha = 0;
      instance.inner.set(item, inner);
      reflow(inner);
      inner.now = inner.before = inner.then;
      return inner;
    } catch (error) {
      announce(String(/** @type {Error} */ (error).message), true);
      return null;
    }
  }

  /**
   * Draw another of the members of a repeat that is open.
   * @param {Instance} instance
   * @param {number} item
   * @param {number} step
   */
  turn(instance, item, step) {
    this.turning = this.turning.then(() => this.turnOnce(instance, item, step)); // one key may come before the last is done
    return this.turning;
  }

  /**
   * @param {Instance} instance
   * @param {number} item
   * @param {number} step
   */
  async turnOnce(instance, item, step) {
    const open = instance.inner.get(item), count = instance.level.items[item].members.length;
    if (!open || !count) return;
    await this.open(instance, item, (open.chosen + step + count) % count);
    this.select({ kind: "item", instance, item });
    this.settle(instance, item);
  }

  /** Open everything inside of what is selected, as far as one picture may have it. */
  async openAll() {
    /** @type {[Instance, number][]} */
    const pending = [];
    const selected = this.selection;
    const add = (/** @type {Instance} */ instance) => instance.level.items.forEach((item, i) => item.kind === "group" && pending.push([instance, i]));
    if (selected.kind === "item" && selected.instance.level.items[selected.item].kind === "group") pending.push([selected.instance, selected.item]);
    else add(this.root);
    let count = 0;
    while (pending.length && count < MOST_OPENED) {
      const batch = pending.splice(0, 64);
      const opened = await Promise.all(batch.map(([instance, item]) => this.open(instance, item, instance.inner.get(item)?.chosen || 0)));
      for (const inner of opened) {
        if (!inner) continue;
        count += inner.level.items.length;
        add(inner);
      }
    }
    if (selected.kind === "item") this.settle(selected.instance, selected.item);
    else {
      freeze(this.root);
      reflow(this.root);
      this.fit();
    }
  }

  closeAll() {
    this.root.inner.clear();
    if (this.selection.kind === "item" && !this.isReachable(this.selection.instance)) this.select({ kind: "model" });
    freeze(this.root);
    reflow(this.root);
    this.fit();
  }

  /** @param {Instance} instance */
  isReachable(instance) {
    for (let at = instance; at.parent; at = at.parent) if (at.parent.inner.get(at.item) !== at) return false;
    return true;
  }

  /**
   * @param {Selection} selection
   */
  select(selection) {
    this.selection = selection;
    this.drawing.selected = selection.kind === "item" ? selection : null;
    this.drawing.followed = new Set(selection.kind === "value" ? [selection.value] : []);
    for (const listener of this.onSelect) listener();
    this.redraw();
  }

  /**
   * Open the groups around a leaf, select it and move there.
   * @param {number} leaf
   */
  async reveal(leaf) {
    const { levels, around } = await this.scene.index();
    const chain = [levels[leaf]];
    while (around[chain[0]] !== null && chain.length < 200) chain.unshift(around[chain[0]]);
    const instance = await this.reach(chain), item = instance ? instance.level.items.findIndex((each) => each.number === leaf) : -1;
    if (instance && item >= 0) this.show(instance, item);
    else announce(chain.length < 200 ? "this is in a function that nothing calls" : "this is nested too deep to be shown", true);
  }

  /**
   * Open a level, and those around it.
   * @param {number} number
   */
  async revealLevel(number) {
    const { around } = await this.scene.index();
    const chain = [number];
    while (around[chain[0]] !== null && chain.length < 200) chain.unshift(around[chain[0]]);
    const instance = await this.reach(chain);
    if (instance && instance.parent) this.show(instance.parent, instance.item);
    else if (!instance) announce("there is no such group in this model", true);
  }

  /**
   * The instance of the last of a chain of levels, the first of which is the root.
   * @param {number[]} chain
   */
  async reach(chain) {
    let instance = this.root;
    for (let i = 1; i < chain.length; i++) {
      const item = instance.level.items.findIndex((each) => each.opens === chain[i]);
      if (item < 0) return null;
      const members = instance.level.items[item].members;
      const chosen = members.length && i + 1 < chain.length ? members.indexOf(chain[++i]) : instance.inner.get(item)?.chosen || 0;
      const inner = await this.open(instance, item, Math.max(0, chosen));
      if (!inner) return null;
      instance = inner;
    }
    return instance;
  }

  /**
   * Select an item and bring it into the middle, if it is not well in sight.
   * @param {Instance} instance
   * @param {number} item
   */
  show(instance, item) {
    this.select({ kind: "item", instance, item });
    freeze(this.root);
    reflow(this.root);
    const { x, y } = this.corner(instance, item, "then"), placed = instance.then;
    const scale = Math.min(Math.max(this.camera.scale, 0.75), Math.max(0.2, (this.height || 1) / (placed.heights[item] + 80)));
    this.move({ scale, x: x - this.width / 2 / scale, y: y + placed.heights[item] / 2 - this.height / 2 / scale });
  }
}
