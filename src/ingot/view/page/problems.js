// What `check` finds, marked in the picture at its nodes.
// @ts-check
import { make } from "./elements.js";
import { marksFor } from "./marks.js";

/** @typedef {import("./app.js").App} App */

const WRONG = "#d32f2f", DOUBTFUL = "#d29922";

/**
 * Say in the panel of a node what is wrong with it.
 * @param {App} app
 */
export function explaining(app) {
  app.panelParts.push(async (selection) => {
    if (selection.kind !== "item") return [];
    const problems = app.scene.problems.get(selection.instance.level.items[selection.item].number) || [];
    return problems.map((problem) => make("div", { class: `problem ${problem.severity}` }, make("p", {}, `${problem.severity}: ${problem.message}`), problem.hint ? make("p", { class: "faint" }, `hint: ${problem.hint}`) : null));
  });
}

/**
 * Mark the nodes that have problems, and the groups around them; returns the problems.
 * @param {App} app
 * @returns {Promise<{message: string, leaf: number | null, severity: string, hint: string | null}[]>}
 */
export async function markProblems(app) {
  const scene = app.scene, problems = await scene.get("check");
  /** @type {Map<number, string>} */
  const leaves = new Map();
  scene.problems.clear();
  for (const problem of problems) {
    if (problem.leaf === null) continue;
    scene.problems.set(problem.leaf, [...(scene.problems.get(problem.leaf) || []), problem]);
    const colour = problem.severity === "warning" ? DOUBTFUL : WRONG;
    if (leaves.get(problem.leaf) !== WRONG) leaves.set(problem.leaf, colour);
  }
  const marks = await marksFor(scene, leaves, [WRONG, DOUBTFUL]);
  if (app.scene === scene) {
    app.drawing.marks = marks;
    app.redraw();
    const selection = app.selection;
    if (selection.kind === "item" && leaves.has(selection.instance.level.items[selection.item].number)) app.select(selection);
  }
  return problems;
}
