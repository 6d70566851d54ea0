// Drawing: boxes, frames of open groups and lines, as far as they are on the screen and large enough to be seen.
// @ts-check
import { badge } from "./badge.js";
import { corners, trace } from "./curves.js";
import { markOf } from "./marks.js";
import { dashed, rounded } from "./outlines.js";

/**
 * @typedef {import("./reflow.js").Instance} Instance
 * @typedef {import("./scene.js").Scene} Scene
 * @typedef {import("./scene.js").Item} Item
 * @typedef {{x: number, y: number, scale: number}} Camera
 * @typedef {{ground: string, box: string, border: string, text: string, faint: string, weight: string, line: string, frames: string[], port: string, is_dark: boolean}} Theme
 * @typedef {{instance: Instance, item: number} | null} Spot
 */

const FONT = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const TITLE = 26, ROW = 15;

/** Pixels of the text below a title, from which on it is written, and of a title that is read well. */
const LEAST_ROWS = 4.6, READ = 10;

/** The scale below which dashes are too small to be seen. */
const LEAST_DASHED = 0.25;

export class Drawing {
  /**
   * @param {Scene} scene
   * @param {CanvasRenderingContext2D} context
   */
  constructor(scene, context) {
    this.scene = scene;
    this.context = context;
    /** @type {Theme} */
    this.theme = scene.model.themes.light;
    /** @type {Spot} */
    this.selected = null;
    /** @type {Spot} */
    this.hovered = null;
    /** @type {Set<number>} values that are followed */
    this.followed = new Set();
    /** @type {import("./measures.js").Measured | null} colours and labels by a measure: costs, differences of runs */
    this.measured = null;
    /** @type {Set<number>} leaves that belong together, as those of a kernel */
    this.ringed = new Set();
    /** @type {Map<number, string>} colours of leaves in the place of those of operators */
    this.heat = new Map();
    /** @type {import("./marks.js").Marks} colours around leaves and around groups with such leaves inside: problems, differences */
    this.marks = { leaves: new Map(), levels: new Map() };
    /** @type {[number, number, number, number][]} */
    this.labels = [];
    this.drawn = 0;
  }

  /**
   * One frame.
   * @param {Instance} root
   * @param {Camera} camera
   * @param {number} width  of the canvas in CSS pixels
   * @param {number} height
   * @param {number} ratio  device pixels for each of these
   */
  frame(root, camera, width, height, ratio) {
    const context = this.context;
    this.labels.length = 0;
    this.drawn = 0;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, width * ratio, height * ratio);
    const s = camera.scale * ratio;
    context.setTransform(s, 0, 0, s, -camera.x * s, -camera.y * s);
    this.view = { left: camera.x, top: camera.y, right: camera.x + width / camera.scale, bottom: camera.y + height / camera.scale };
    this.scale = camera.scale;
    this.level(root, 0, 0, 0);
  }

  /**
   * @param {Instance} instance
   * @param {number} ox
   * @param {number} oy
   * @param {number} depth
   */
  level(instance, ox, oy, depth) {
    const { now, level } = instance;
    const view = /** @type {{left: number, top: number, right: number, bottom: number}} */ (this.view);
    if (ox > view.right || oy > view.bottom || ox + now.width < view.left || oy + now.height < view.top) return;
    const context = this.context, theme = this.theme, scale = /** @type {number} */ (this.scale);
    const isFar = now.width * scale < 34;
    for (const [item, open] of instance.inner) {
      const x = ox + now.lefts[item], y = oy + now.tops[item], w = now.widths[item], h = now.heights[item];
      if (x > view.right || y > view.bottom || x + w < view.left || y + h < view.top) continue;
      context.fillStyle = theme.frames[(depth + 1) % 2];
      context.strokeStyle = this.isAt(instance, item, this.selected) ? "#1f6feb" : markOf(this.marks, level.items[item]) || theme.border;
      context.lineWidth = this.isAt(instance, item, this.selected) ? 2.5 : 1;
      rounded(context, x, y, w, h, 8);
      context.fill();
      if (w * scale > 4) {
        if (context.lineWidth > 1 || scale < LEAST_DASHED) context.stroke();
        else dashed(context, view, x, y, w, h, 8);
      }
      const isMoving = Math.abs(open.now.width - w) > 1 || Math.abs(open.now.height - h) > 1;
      if (w * scale > 8) {
        context.save();
        if (isMoving) {
          rounded(context, x, y, w, h, 8);
          context.clip();
        }
        context.globalAlpha *= open.alpha;
        this.level(open, x, y, depth + 1);
        context.restore();
      }
    }
    if (!isFar) this.lines(instance, ox, oy, depth);
    for (let i = 0; i < level.items.length; i++) {
      const item = level.items[i];
      if (!item.width) continue;
      const x = ox + now.lefts[i], y = oy + now.tops[i], w = now.widths[i], h = now.heights[i];
      if (x > view.right || y > view.bottom || x + w < view.left || y + h < view.top) continue;
      this.drawn++;
      if (instance.inner.has(i)) this.heading(instance, i, x, y, w, depth);
      else this.box(instance, i, item, x, y, w, h);
    }
  }

  /**
   * The title of an open group.
   * @param {Instance} instance
   * @param {number} i
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} depth
   */
  heading(instance, i, x, y, w, depth) {
    const scale = /** @type {number} */ (this.scale);
    if (scale * 12 < 4) return;
    const item = instance.level.items[i], open = instance.inner.get(i), context = this.context;
    const [, name, count] = /** @type {RegExpExecArray} */ (/^(.*?)( × \d+)?$/s.exec(item.title));
    const chosen = item.members.length && open ? `   ‹ ${open.chosen + 1} of ${item.members.length} ›` : "";
    context.font = `600 12px ${FONT}`;
    context.textAlign = "left";
    context.lineWidth = 3;
    context.strokeStyle = this.theme.frames[(depth + 1) % 2];
    const suffix = `${count || ""}${chosen}`;
    const title = shortened(context, name, w - 44 - context.measureText(suffix).width) + suffix;
    const width = context.measureText(title).width;
    context.strokeText(title, x + 12, y + 18);
    context.fillStyle = this.theme.text;
    context.fillText(title, x + 12, y + 18);
    if (open && open.level.class && w > width + 150) {
      context.font = `10px ${FONT}`;
      context.fillStyle = this.theme.faint;
      context.fillText(open.level.class, x + 20 + width, y + 18, w - width - 60);
    }
    context.fillStyle = this.theme.faint;
    context.font = `600 14px ${FONT}`;
    context.fillText("–", x + w - 20, y + 18);
    const measured = this.measure(item);
    if (measured?.label && w > width + 130) {
      context.font = `10px ${FONT}`;
      context.textAlign = "right";
      context.fillText(measured.label, x + w - 28, y + 18);
    }
  }

  /**
   * What a measure says of an item; undefined if it says nothing.
   * @param {Item} item
   */
  measure(item) {
    if (!this.measured) return undefined;
    return item.kind === "node" ? this.measured.leaves.get(item.number) : item.kind === "group" ? this.measured.levels.get(item.opens ?? -1) : undefined;
  }

  /**
   * @param {Instance} instance
   * @param {number} number
   * @param {Item} item
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   */
  box(instance, number, item, x, y, w, h) {
    const context = this.context, theme = this.theme, scale = /** @type {number} */ (this.scale), families = this.scene.model.families;
    const isSelected = this.isAt(instance, number, this.selected), isHovered = this.isAt(instance, number, this.hovered);
    const shade = theme.is_dark ? "dark" : "light";
    const heat = item.kind === "node" ? this.heat.get(item.number) : undefined, measured = this.measure(item), ground = measured ? measured.colour : theme.box;
    const isSmall = scale * 12 < 3.2, hasRows = item.rows.length > 0 && scale * 10 >= LEAST_ROWS, mark = markOf(this.marks, item);
    const colour = this.measured ? ground : heat || (item.family ? families[item.family][shade] : theme.box);
    if (isSmall) {
      context.fillStyle = mark || (item.kind === "group" && !this.measured ? families[largest(item)]?.[shade] || theme.border : item.kind === "node" || item.kind === "group" ? colour : theme.port);
      context.fillRect(x, y, w, h);
      if (isSelected) this.ring(x, y, w, h);
      return;
    }
    context.lineWidth = 1;
    context.strokeStyle = isHovered ? theme.faint : theme.border;
    if (item.kind === "node") {
      context.fillStyle = !hasRows ? colour : theme.box;
      rounded(context, x, y, w, h, 5);
      context.fill();
      if (hasRows) {
        context.save();
        context.clip();
        context.fillStyle = colour;
        context.fillRect(x, y, w, TITLE - 3);
        context.restore();
        rounded(context, x, y, w, h, 5);
      }
      context.stroke();
    } else if (item.kind === "group") {
      context.fillStyle = ground;
      for (const shift of item.members.length ? [4, 2, 0] : [2, 0]) {
        rounded(context, x + shift, y + shift, w, h, 6);
        context.fill();
        context.stroke();
      }
      let at = x + 8;
      for (const [family, share] of this.measured ? [] : item.mixture) {
        context.fillStyle = families[family][shade];
        context.fillRect(at, y + h - 5, share * (w - 16), 3);
        at += share * (w - 16);
      }
    } else {
      context.fillStyle = theme.port;
      rounded(context, x, y, w, h, Math.min(13, h / 2));
      context.fill();
      context.stroke();
    }
    if (measured) badge(context, theme, measured, x, y, w, h);
    if (mark) this.ring(x, y, w, h, mark);
    if (isSelected || (item.kind === "node" && this.ringed.has(item.number))) this.ring(x, y, w, h);
    context.textAlign = "center";
    context.fillStyle = theme.text;
    context.font = `600 12px ${FONT}`;
    if (!hasRows && item.rows.length) { // the title has their place, as large as it can be read
      const size = Math.min(READ / scale, 0.55 * h, (12 * (w - 6)) / context.measureText(item.title).width);
      context.font = `600 ${Math.max(12, size)}px ${FONT}`;
      context.textBaseline = "middle";
      context.fillText(item.title, x + w / 2, y + h / 2 - (item.kind === "group" ? 2 : 0), w - 6);
      context.textBaseline = "alphabetic";
    } else context.fillText(item.title, x + w / 2, y + 17, w - 8);
    if (!hasRows) return;
    context.font = `10px ${FONT}`;
    for (let i = 0; i < item.rows.length; i++) {
      context.fillStyle = item.rows[i][0] === "weight" ? theme.weight : theme.faint;
      context.fillText(item.rows[i][1], x + w / 2, y + TITLE + ROW * i + (item.kind === "node" ? 9 : 6), w - 8);
    }
    if (item.kind === "node" && item.opens !== null) {
      context.strokeStyle = theme.faint;
      context.beginPath();
      context.moveTo(x + w - 13, y + 12);
      context.lineTo(x + w - 5, y + 12);
      context.moveTo(x + w - 9, y + 8);
      context.lineTo(x + w - 9, y + 16);
      context.stroke();
    }
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} w
   * @param {number} h
   * @param {string} [colour]
   */
  ring(x, y, w, h, colour = "#1f6feb") {
    const context = this.context, wide = Math.max(2.5, 2 / /** @type {number} */ (this.scale));
    context.strokeStyle = colour;
    context.lineWidth = wide;
    rounded(context, x - 2, y - 2, w + 4, h + 4, 7);
    context.stroke();
  }

  /**
   * The lines of an instance, those that are followed last.
   * @param {Instance} instance
   * @param {number} ox
   * @param {number} oy
   * @param {number} depth
   */
  lines(instance, ox, oy, depth) {
    const context = this.context, theme = this.theme, scale = /** @type {number} */ (this.scale), { level, now } = instance;
    const view = /** @type {{left: number, top: number, right: number, bottom: number}} */ (this.view);
    /** @type {[number[], boolean, boolean][]} */
    const special = [];
    context.beginPath();
    context.strokeStyle = theme.line;
    context.lineWidth = 1.2;
    /** @type {[number, number][]} */
    const arrows = [];
    /** @type {number[]} */
    const sized = [];
    for (let number = 0; number < level.tracks.length; number++) {
      const track = level.tracks[number];
      if (track.stub) continue;
      const top = oy + now.tops[track.source];
      if (top > view.bottom) continue;
      const isFollowed = this.isFollowed(instance, track), isFaulty = track.values.some((value) => this.scene.faults.has(value));
      for (let which = 0; which < track.targets.length; which++) {
        const target = track.targets[which];
        if (oy + now.tops[target] + now.heights[target] < view.top) continue;
        const points = corners(instance, number, which);
        if (isFollowed || isFaulty) special.push([points, isFollowed, isFaulty]);
        else trace(context, points, ox, oy);
        if (level.items[target].kind !== "port out" && !instance.inner.has(target)) arrows.push([ox + points[points.length - 2], oy + points[points.length - 1]]);
      }
      const foot = top + now.heights[track.source]; // the text on a line stands below its source
      if (scale > 0.5 && foot < view.bottom && foot + 30 > view.top) sized.push(number);
    }
    context.stroke();
    context.fillStyle = theme.line;
    if (scale > 0.25) {
      context.beginPath();
      for (const [x, y] of arrows) {
        context.moveTo(x, y);
        context.lineTo(x - 3, y - 6);
        context.lineTo(x + 3, y - 6);
        context.closePath();
      }
      context.fill();
    }
    for (const [points, isFollowed, isFaulty] of special) {
      context.beginPath();
      trace(context, points, ox, oy);
      context.strokeStyle = isFaulty ? "#d32f2f" : "#1f6feb";
      context.lineWidth = Math.max(isFollowed ? 2.4 : 1.8, 1.4 / scale);
      context.stroke();
    }
    for (const number of sized) this.size(instance, number, ox, oy, depth);
  }

  /**
   * The sizes of what flows along a line, where no other text is.
   * @param {Instance} instance
   * @param {number} number
   * @param {number} ox
   * @param {number} oy
   * @param {number} depth
   */
  size(instance, number, ox, oy, depth) {
    const track = instance.level.tracks[number], kind = instance.level.items[track.source].kind;
    if (kind !== "node" && kind !== "group") return;
    const open = instance.inner.get(track.source);
    if (open && open.alpha < 1) return;
    const label = this.scene.label(track);
    if (!label) return;
    const points = corners(instance, number, 0), context = this.context;
    const x = ox + points[0] + 5, y = oy + points[1] + 13;
    context.font = `9px ${FONT}`;
    context.textAlign = "left";
    const lines = [label];
    const range = track.values.length === 1 && !this.measured ? this.scene.ranges.get(track.values[0]) : undefined;
    if (range) lines.push(range);
    const width = Math.max(...lines.map((text) => context.measureText(text).width));
    const place = /** @type {[number, number, number, number]} */ ([x, y - 9, x + width, y - 9 + 11 * lines.length]);
    if (this.labels.some((other) => other[0] < place[2] && place[0] < other[2] && other[1] < place[3] && place[1] < other[3])) return;
    this.labels.push(place);
    const alpha = context.globalAlpha;
    context.globalAlpha = alpha * 0.85; // what passes below can be seen, and the text be read
    context.fillStyle = depth ? this.theme.frames[depth % 2] : this.theme.ground;
    context.fillRect(x - 1, y - 8, width + 2, 11 * lines.length - 1);
    context.globalAlpha = alpha;
    lines.forEach((text, i) => {
      context.fillStyle = i ? this.theme.weight : this.theme.faint;
      context.fillText(text, x, y + 11 * i);
    });
  }

  /**
   * @param {Instance} instance
   * @param {import("./scene.js").Track} track
   */
  isFollowed(instance, track) {
    if (track.values.some((value) => this.followed.has(value))) return true;
    const selected = this.selected;
    return Boolean(selected && selected.instance === instance && (track.source === selected.item || track.targets.includes(selected.item)));
  }

  /**
   * @param {Instance} instance
   * @param {number} item
   * @param {Spot} spot
   */
  isAt(instance, item, spot) {
    return Boolean(spot && spot.instance === instance && spot.item === item);
  }
}

/**
 * As much of a text as fits into a width, and an ellipsis.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} width
 */
function shortened(context, text, width) {
  const whole = context.measureText(text).width;
  if (whole <= width) return text;
  return `${text.slice(0, Math.max(1, Math.floor((text.length * width) / whole) - 2))}…`;
}

/** @param {Item} item */
function largest(item) {
  let best = "";
  let most = 0;
  for (const [family, share] of item.mixture) if (share > most) [best, most] = [family, share];
  return best;
}
