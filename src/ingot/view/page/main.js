// The page: fetches the first picture, draws it, and wires up everything else.
// @ts-check
import { App } from "./app.js";
import { announce, byId } from "./elements.js";
import { comparing } from "./compare.js";
import { dropping } from "./dropping.js";
import { listening } from "./input.js";
import { linking } from "./links.js";
import { mapping } from "./map.js";
import { applyMarks } from "./marks.js";
import { showing } from "./panel.js";
import { pinning } from "./pins.js";
import { profiling, resumeProfile } from "./profile.js";
import { resume, runModel, runs } from "./runs.js";
import { Scene } from "./scene.js";
import { searching } from "./search.js";
import { get, has, isSaved } from "./transport.js";
import { valueCard } from "./values.js";

async function start() {
  const model = await get("model");
  document.title = `${model.title} · ingot`;
  byId("name").textContent = model.title;
  byId("facts").textContent = model.facts;
  const scene = new Scene(model);
  const app = new App(scene, byId("graph"));
  /** @type {any} */ (window).ingot = app;
  listening(app);
  app.onFrame.push(once(() => {
    performance.mark("first picture");
    document.body.dataset.drawn = "true";
  }));
  mapping(app);
  searching(app);
  profiling(app);
  comparing(app);
  pinning(app, valueCard);
  dropping(app);
  app.onTheme.push(() => applyMarks(app));
  byId("run").onclick = () => runModel(app);
  byId("run").hidden = isSaved;
  byId("profile").hidden = isSaved && !has("profile");
  runs.onChange.push(() => {
    byId("run").textContent = runs.isRunning ? "Running …" : "▶ Run";
    if (!runs.isRunning && app.selection.kind !== "model") app.select(app.selection);
  });
  const state = await resume(app);
  if (state?.profiled || has("profile")) await resumeProfile(app, isSaved);
  showing(app);
  await linking(app);
  await scene.fetchTypes();
  app.redraw();
  document.body.dataset.typed = "true";
}

/** @param {() => void} action */
function once(action) {
  let isDone = false;
  return () => {
    if (!isDone) action();
    isDone = true;
  };
}

start().catch((error) => {
  document.body.dataset.failed = "true";
  announce(error.message, true);
});
