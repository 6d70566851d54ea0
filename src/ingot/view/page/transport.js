// Where data comes from: a saved page has it inside, any other asks the server that it came from.
// @ts-check

/** @type {Record<string, any> | null} */
const embedded = (() => {
  const element = document.getElementById("saved");
  return element ? JSON.parse(element.textContent || "{}") : null;
})();

/** Whether this page was saved: nothing can be run or measured then. */
export const isSaved = embedded !== null;

/**
 * Whether a saved page has the data at a path.
 * @param {string} path
 */
export function has(path) {
  return embedded !== null && path in embedded;
}

/**
 * The data at a path, as the server gives it; an Error with its message if there is none.
 * @param {string} path
 * @returns {Promise<any>}
 */
export async function get(path) {
  if (embedded) {
    if (path in embedded) return embedded[path];
    throw new Error("a saved page does not have this; open the model with 'ingot view'");
  }
  return asked(path, {});
}

/**
 * The answer to a request that computes something.
 * @param {string} path
 * @param {any} body  an object, or the bytes of a file
 * @returns {Promise<any>}
 */
export async function post(path, body) {
  if (embedded) throw new Error("a saved page cannot run the model; open it with 'ingot view'");
  const isBytes = body instanceof ArrayBuffer;
  return asked(path, { method: "POST", body: isBytes ? body : JSON.stringify(body) });
}

/**
 * The address of a file to download; null in a saved page.
 * @param {string} path
 */
export function address(path) {
  return embedded ? null : `data/file/${path}`;
}

/**
 * @param {string} path
 * @param {RequestInit} options
 */
async function asked(path, options) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(`data/${path}`, options);
  } catch {
    throw new Error("there is no answer: 'ingot view' has ended; start it again");
  }
  const isJson = (response.headers.get("Content-Type") || "").startsWith("application/json");
  const content = isJson ? await response.json() : { error: (await response.text()).trim() };
  if (!response.ok) throw new Error(content.error || response.statusText);
  return content;
}
