// The page: fetches the first picture, draws it, and wires up everything else.
// @ts-check
import { App } from "./app.js";
import { comparing } from "./compare.js";
import { editing } from "./edit.js";
import { announce, byId, visible } from "./elements.js";
import { listening } from "./input.js";
import { linking } from "./links.js";
import { mapping } from "./map.js";
import { showing } from "./panel.js";
import { explaining, markProblems } from "./problems.js";
import { newestScene } from "./scene.js";
import { searching } from "./search.js";
import { resuming, tooling } from "./tooling.js";

/** Milliseconds that the rest of the page waits for the first picture to be shown, at most. */
const MOST_WAITED = 200;

async function start() {
  const scene = await newestScene(), { model } = scene;
  document.title = `${visible(model.title)} · ingot`;
  byId("name").textContent = visible(model.title);
  byId("facts").textContent = model.facts;
  const app = new App(scene, byId("graph"));
  /** @type {any} */ (window).ingot = app;
  listening(app);
  mapping(app);
  app.drawNow();
  performance.mark("first picture");
  document.body.dataset.drawn = "true";
  await shown(); // nothing else is asked for, or laid out, before the picture is on the screen
  searching();
  editing(app);
  explaining(app);
  await comparing(app);
  tooling(app);
  showing(app);
  await linking(app);
  await scene.fetchTypes();
  app.redraw();
  if (!model.compared) markProblems(app).catch(() => {}); // the panel says what went wrong
  document.body.dataset.typed = "true";
  await resuming(app);
}

/**
 * Resolves when what was drawn is on the screen; a page that is hidden has no frames, and does not wait for one.
 * @returns {Promise<void>}
 */
function shown() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, MOST_WAITED);
  });
}

start().catch((error) => {
  document.body.dataset.failed = "true";
  announce(error.message, true);
});
