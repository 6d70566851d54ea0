// The nodes of a kernel in the picture.
// @ts-check
import { announce } from "./elements.js";

/**
 * Ring the nodes of a step, and move to the first.
 * @param {import("./app.js").App} app
 * @param {number[]} leaves
 */
export async function showStep(app, leaves) {
  app.drawing.ringed = new Set(leaves);
  if (leaves.length) await app.reveal(leaves[0]);
  else announce("no node of the file: a pass has put it in");
}
