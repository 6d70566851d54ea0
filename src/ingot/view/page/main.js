// The page: fetches the first picture, draws it, and wires up everything else.
// @ts-check
import { App } from "./app.js";
import { comparing } from "./compare.js";
import { dropping } from "./drops.js";
import { editing } from "./edit.js";
import { announce, byId } from "./elements.js";
import { listening } from "./input.js";
import { linking } from "./links.js";
import { mapping } from "./map.js";
import { showing } from "./panel.js";
import { explaining, markProblems } from "./problems.js";
import { Scene } from "./scene.js";
import { searching } from "./search.js";
import { get, within } from "./transport.js";

async function start() {
  const model = await get("model");
  document.title = `${model.title} · ingot`;
  byId("name").textContent = model.title;
  byId("facts").textContent = model.facts;
  const prefix = model.version ? `at/${model.version}/` : "";
  within(prefix);
  const scene = new Scene(model, prefix);
  const app = new App(scene, byId("graph"));
  /** @type {any} */ (window).ingot = app;
  listening(app);
  app.onFrame.push(once(() => {
    performance.mark("first picture");
    document.body.dataset.drawn = "true";
  }));
  mapping(app);
  searching(app);
  editing(app);
  dropping();
  explaining(app);
  await comparing(app);
  showing(app);
  await linking(app);
  await scene.fetchTypes();
  app.redraw();
  if (!model.compared) markProblems(app).catch(() => {}); // the panel says what went wrong
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
