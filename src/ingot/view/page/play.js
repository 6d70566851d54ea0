// Playing through the layers in the order in which they were computed.
// @ts-check
import { make } from "./elements.js";
import { changedRuns, runs } from "./runs.js";

/**
 * @typedef {import("./app.js").App} App
 * @typedef {import("./reflow.js").Instance} Instance
 */

const STEP_TIME = 900;
/** @type {number} */
let timer = 0;
let isPlaying = false;

/**
 * The button that plays, once the model was run.
 * @param {App} app
 * @returns {Node[]}
 */
export function playing(app) {
  if (!runs.last) return [];
  return [make("button", { class: "play", title: "from layer to layer, as they were computed", onclick: () => (isPlaying ? endPlay() : beginPlay(app)) }, isPlaying ? "❚❚ Pause" : "▶ Play")];
}

/** @param {App} app */
function beginPlay(app) {
  isPlaying = true;
  changedRuns();
  const stops = stopsOf(app), selected = app.selection;
  let place = selected.kind === "item" ? stops.findIndex((stop) => stop.instance === selected.instance && stop.item === selected.item) : -1;
  const bar = make("div", { id: "player" });
  const step = (/** @type {number} */ by) => {
    place = Math.max(0, place + by);
    const stop = stops[place];
    if (!stop) return endPlay();
    app.show(stop.instance, stop.item);
    slider.value = String(place);
    count.textContent = `${place + 1} of ${stops.length}`;
  };
  const slider = make("input", { type: "range", min: 0, max: stops.length - 1, value: 0, oninput: () => {
    hold();
    place = Number(slider.value);
    step(0);
  } });
  const count = make("span", { class: "faint" });
  const go = make("button", {}, "❚❚");
  const hold = () => {
    clearInterval(timer);
    timer = 0;
    go.textContent = "▶";
  };
  const run = () => {
    clearInterval(timer);
    timer = window.setInterval(() => step(1), STEP_TIME);
    go.textContent = "❚❚";
  };
  go.onclick = () => (timer ? hold() : run());
  bar.append(make("button", { title: "the one before", onclick: () => (hold(), step(-1)) }, "‹"), go, make("button", { title: "the next", onclick: () => (hold(), step(1)) }, "›"), slider, count, make("button", { title: "Close", onclick: endPlay }, "×"));
  document.getElementById("player")?.remove();
  document.getElementById("main")?.append(bar);
  step(1);
  run();
}

function endPlay() {
  clearInterval(timer);
  timer = 0;
  isPlaying = false;
  document.getElementById("player")?.remove();
  changedRuns();
}

/**
 * The boxes in the picture, in the order in which they were computed; a closed group is one stop.
 * @param {App} app
 */
function stopsOf(app) {
  const order = new Map((runs.last?.order || []).map((leaf, place) => [leaf, place])), places = runs.last?.places || {};
  /** @type {{instance: Instance, item: number, at: number}[]} */
  const stops = [];
  const walk = (/** @type {Instance} */ instance) => instance.level.items.forEach((item, number) => {
    const open = instance.inner.get(number);
    if (open) walk(open);
    else if (item.kind === "node" && order.has(item.number)) stops.push({ instance, item: number, at: order.get(item.number) || 0 });
    else if (item.kind === "group") stops.push({ instance, item: number, at: Math.min(...leaving(instance, number).map((value) => places[value] ?? Infinity)) });
  });
  walk(app.root);
  return stops.filter((stop) => Number.isFinite(stop.at)).sort((a, b) => a.at - b.at);
}

/**
 * The values that leave an item.
 * @param {Instance} instance
 * @param {number} number
 */
function leaving(instance, number) {
  return instance.level.tracks.filter((track) => track.source === number).flatMap((track) => track.values);
}
