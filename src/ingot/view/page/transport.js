// Where data comes from: a saved page has it inside, any other asks the server that it came from.
// @ts-check

/** @type {Record<string, any> | null} */
const embedded = (() => {
  const element = document.getElementById("saved");
  return element ? JSON.parse(element.textContent || "{}") : null;
})();

/** Whether this page was saved: nothing can be run or measured then. */
export const isSaved = embedded !== null;

/** The beginning of paths: of the version of an edited model, or of one of two models, that is shown. */
let shown = "";

/**
 * Ask for one version, or one of two models, from now on.
 * @param {string} prefix
 */
export function within(prefix) {
  shown = prefix;
}

/**
 * The data at a path, as the server gives it; an Error with its message if there is none.
 * @param {string} path
 * @param {string} [prefix]
 * @returns {Promise<any>}
 */
export async function get(path, prefix = shown) {
  const whole = `${prefix}${path}`;
  if (embedded) {
    if (whole in embedded) return embedded[whole];
    throw new Error("a saved page does not have this; open the model with 'ingot view'");
  }
  return answer(await fetch(`data/${whole}`));
}

/**
 * The answer to a request that computes something.
 * @param {string} path
 * @param {any} body  an object, or the bytes of a file
 * @param {AbortSignal} [signal]
 * @param {string} [prefix]
 * @returns {Promise<any>}
 */
export async function post(path, body, signal, prefix = shown) {
  if (embedded) throw new Error("a saved page cannot run the model; open it with 'ingot view'");
  const isBytes = body instanceof ArrayBuffer;
  return answer(await fetch(`data/${prefix}${path}`, { method: "POST", body: isBytes ? body : JSON.stringify(body), signal }));
}

/**
 * The address of a file to download; null in a saved page.
 * @param {string} path
 */
export function address(path) {
  return embedded ? null : `data/file/${shown}${path}`;
}

/** @param {Response} response */
async function answer(response) {
  const content = await response.json();
  if (!response.ok) throw new Error(content.error || response.statusText);
  return content;
}
