// What `check` finds, marked in the picture at its nodes.
// @ts-check
import { marksFor } from "./marks.js";
import { get } from "./transport.js";

/** @typedef {import("./app.js").App} App */

const WRONG = "#d32f2f", DOUBTFUL = "#d29922";

/**
 * Mark the nodes that have problems, and the groups around them; returns the problems.
 * @param {App} app
 * @returns {Promise<{message: string, leaf: number | null, severity: string, hint: string | null}[]>}
 */
export async function markProblems(app) {
  const scene = app.scene, problems = await get("check", scene.prefix);
  /** @type {Map<number, string>} */
  const leaves = new Map();
  for (const problem of problems) {
    if (problem.leaf === null) continue;
    const colour = problem.severity === "warning" ? DOUBTFUL : WRONG;
    if (leaves.get(problem.leaf) !== WRONG) leaves.set(problem.leaf, colour);
  }
  const marks = await marksFor(scene, leaves, [WRONG, DOUBTFUL]);
  if (app.scene === scene) {
    app.drawing.marks = marks;
    app.redraw();
  }
  return problems;
}
