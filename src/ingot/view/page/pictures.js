// Small pictures of arrays: histograms, heat maps, tiles.
// @ts-check
import { make } from "./elements.js";

/**
 * Counts as bars, with the range below.
 * @param {number[]} counts
 * @param {string} low
 * @param {string} high
 */
export function histogram(counts, low, high) {
  const width = 320, height = 70, canvas = make("canvas", { width: width * 2, height: height * 2 });
  canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  context.scale(2, 2);
  const most = Math.max(1, ...counts), step = width / counts.length;
  context.fillStyle = style.getPropertyValue("--bar");
  counts.forEach((count, i) => {
    const h = count ? Math.max(1, (height * count) / most) : 0;
    context.fillRect(i * step, height - h, Math.max(1, step - 1), h);
  });
  const foot = make("div", { class: "row faint" }, low, make("span"), high);
  foot.style.justifyContent = "space-between";
  return make("div", { class: "histogram" }, canvas, foot);
}

/**
 * The elements of a vector in order, as bars from zero.
 * @param {number[]} elements
 */
export function strip(elements) {
  const width = 320, height = 56, canvas = make("canvas", { width: width * 2, height: height * 2, class: "strip" });
  canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  context.scale(2, 2);
  const low = Math.min(0, ...elements), high = Math.max(0, ...elements), span = high - low || 1, step = width / elements.length;
  const zero = (height * high) / span;
  elements.forEach((element, i) => {
    const y = (height * (high - element)) / span;
    context.fillStyle = style.getPropertyValue(element < 0 ? "--low" : "--bar");
    context.fillRect(i * step, Math.min(y, zero), Math.max(0.7, step - (step > 3 ? 1 : 0)), Math.max(0.7, Math.abs(y - zero)));
  });
  return canvas;
}

/**
 * A picture that the server has scaled down: rows of bytes, 0 for the least and 255 for the greatest element.
 * @param {{width: number, height: number, bytes: string, note: string, signed: boolean, scale?: number, colours?: boolean}} picture
 */
export function heatMap(picture) {
  const { width, height } = picture, canvas = make("canvas", { width, height });
  const scale = Math.max(1, Math.min(8, Math.floor(320 / width)));
  canvas.style.width = `${Math.min(326, width * scale)}px`;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const bytes = Uint8Array.from(atob(picture.bytes), (char) => char.charCodeAt(0));
  for (let i = 0; i < width * height; i++) {
    if (picture.colours) image.data.set([bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2], 255], 4 * i);
    else image.data.set([...shade(bytes[i], picture.signed), 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return make("div", {}, canvas, make("p", { class: "faint" }, picture.note));
}

/**
 * The colour of a byte: 255 is kept for what is no finite number.
 * @param {number} byte
 * @param {boolean} signed  blue below the middle and red above, else from dark to bright
 * @returns {[number, number, number]}
 */
function shade(byte, signed) {
  if (byte === 255) return [255, 0, 200];
  const t = byte / 254;
  if (signed) {
    const d = Math.abs(t - 0.5) * 2, light = 245 - 190 * d;
    return t < 0.5 ? [light, light + 15 * d, 245] : [245, light, light];
  }
  return [Math.round(255 * Math.min(1, t * 1.6)), Math.round(255 * Math.max(0, Math.min(1, t * 1.6 - 0.45))), Math.round(120 + 110 * Math.sin(t * Math.PI) - 90 * t)];
}
