// The nodes of a kernel in the picture, and the kernels of a diagram one by one.
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

/**
 * Let the arrow keys go through what a diagram shows, and Enter lead to its nodes.
 * @param {HTMLCanvasElement} canvas
 * @param {string} title
 * @param {number} count
 * @param {(move: (hovered: number) => number) => void} hover  moves what is pointed at; -1 is nothing
 * @param {() => void} go
 */
export function stepping(canvas, title, count, hover, go) {
  canvas.tabIndex = 0;
  canvas.ariaLabel = title;
  canvas.onkeydown = (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step) hover((hovered) => Math.max(0, Math.min(count - 1, hovered + step)));
    else if (event.key === "Enter") go();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
