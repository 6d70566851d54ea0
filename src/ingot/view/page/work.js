// What the server computes for a while for this tab, and can be told to stop.
// @ts-check
import { announce, make } from "./elements.js";
import { tab } from "./runs.js";

/** @typedef {import("./scene.js").Scene} Scene */

/** Milliseconds between questions whether a work has ended. */
const ASKING = 500;

export class Work {
  /**
   * @param {Scene} scene
   * @param {string} name
   */
  constructor(scene, name) {
    this.scene = scene;
    this.name = name;
    this.isStopped = false;
  }

  /**
   * Begin it; the work of this name that is under way ends.
   * @param {any} body
   */
  post(body) {
    return this.scene.post(`${this.name}/${tab}`, body);
  }

  stop() {
    this.isStopped = true;
    this.scene.post(`cancel/${tab}/${this.name}`, {}).catch((error) => announce(error.message, true));
  }
}

/**
 * The state of this tab when a work has ended that was begun before the page was loaded again.
 * @param {Work} work
 */
export async function ended(work) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, ASKING));
    const state = await work.scene.get(`state/${tab}`);
    if (work.isStopped || !state.works.includes(work.name)) return state;
  }
}

/**
 * A button that stops a work; there is none where nothing is under way.
 * @param {Work | null} work
 */
export function stopButton(work) {
  return work && make("button", { onclick: () => work.stop() }, "Stop");
}
