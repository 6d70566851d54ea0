// What the server computes for a while for this tab, and can be told to stop.
// @ts-check
import { announce, make } from "./elements.js";
import { tab } from "./runs.js";

/** @typedef {import("./scene.js").Scene} Scene */

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
 * A button that stops a work; there is none where nothing is under way.
 * @param {Work | null} work
 */
export function stopButton(work) {
  return work && make("button", { onclick: () => work.stop() }, "Stop");
}
