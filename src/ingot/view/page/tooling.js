// Running and measuring the model: everything of the page that needs a machine, wired up.
// @ts-check
import { contrasting, resumeComparison } from "./contrast.js";
import { openTab, refreshDesk } from "./desk.js";
import { dropping } from "./dropping.js";
import { byId } from "./elements.js";
import { refreshForm } from "./inputs.js";
import { applyMeasure, setMeasure } from "./measures.js";
import { forgetPins, pinning } from "./pins.js";
import { forgetProfile, profiling, resumeProfile } from "./profile.js";
import { forgetRuns, resume, runModel, runs } from "./runs.js";
import { has, isSaved } from "./transport.js";
import { valueCard } from "./values.js";

/** @typedef {import("./app.js").App} App */

/** @param {App} app */
export function tooling(app) {
  profiling(app);
  dropping(app);
  const showAgain = () => {
    if (app.selection.kind !== "model" && !document.activeElement?.closest("#panel .edit")) app.select(app.selection); // what is typed there stays
  };
  app.onTheme.push(() => {
    applyMeasure(app);
    refreshDesk(openTab());
    showAgain();
  });
  const isOne = !app.scene.model.compared;
  app.isRunnable = isOne && !isSaved;
  byId("run").hidden = !app.isRunnable;
  byId("profile").hidden = !isOne || (isSaved && !has("profile"));
  if (!isOne) return;
  contrasting(app);
  if (!isSaved) pinning(app, valueCard);
  byId("run").onclick = () => runModel(app);
  runs.onChange.push(refreshForm, () => {
    byId("run").textContent = runs.isRunning ? "Running …" : "▶ Run";
    if (!runs.isRunning) showAgain();
  });
  app.onReplace.push(() => {
    forgetRuns();
    forgetPins();
    forgetProfile();
    setMeasure(app, null);
    resume(app).catch(() => {}); // the next run says what is wrong
  });
}

/**
 * Show what this tab has done before the page was loaded again, or what a saved page was written for.
 * @param {App} app
 */
export async function resuming(app) {
  if (app.scene.model.compared) return;
  const state = await resume(app);
  await Promise.all([resumeProfile(app, state), state && resumeComparison(app, state)]);
}
