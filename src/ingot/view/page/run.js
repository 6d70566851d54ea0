// Running the model, and what flowed through it.
// @ts-check




/** @typedef {import("./app.js").App} App */

/**
 * The part of the panel that runs the model.
 * @param {App} app
 * @returns {Node[]}
 */
export function runPanel(app) {
  void app;
  return [];
}

/**
 * The part of the panel that shows values of the last run.
 * @param {App} app
 * @param {string[]} names
 * @returns {Node[]}
 */
export function valuePanel(app, names) {
  void app;
  void names;
  return [];
}
