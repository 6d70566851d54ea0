// The levels of a model, fetched when they are first needed, and what is known of its values.
// @ts-check
import { address, get, post } from "./transport.js";

/**
 * @typedef {{kind: string, number: number, title: string, rows: [string, string][], width: number, height: number, values: number[], family: string,
 *   mixture: [string, number][], opens: number | null, members: number[], size: number}} Item
 * @typedef {{values: number[], source: number, targets: number[], bends: [number, number][], leaves: number, enters: number[], stub: boolean}} Track
 * @typedef {{number: number, title: string, class: string, items: Item[], ranks: number[], centres: number[], rows: number[][], bends: [number, number][],
 *   tracks: Track[], names: Record<string, string>, types: Record<string, string>}} Level
 */

/**
 * The newest version of the model.
 * @returns {Promise<Scene>}
 */
export async function newestScene() {
  const model = await get("model");
  return new Scene(model, model.version ? `at/${model.version}/` : "");
}

export class Scene {
  /**
   * @param {any} model
   * @param {string} [prefix]  of the paths of what belongs to it: a version of an edited model, or one of two models
   */
  constructor(model, prefix = "") {
    this.model = model;
    this.prefix = prefix;
    /** @type {() => void} */
    this.settleTypes = () => {};
    /** @type {Promise<void>} settled once the types of all values are known */
    this.typed = new Promise((resolve) => (this.settleTypes = resolve));
    /** @type {Map<number, Level>} */
    this.levels = new Map();
    /** @type {Map<number, string>} */
    this.names = new Map();
    /** @type {Map<number, string>} */
    this.types = new Map();
    /** @type {Map<number, string>} what a run found on edges, below the sizes */
    this.ranges = new Map();
    /** @type {Set<number>} values with NaN or infinities in the last run */
    this.faults = new Set();
    /** @type {Map<number, {message: string, hint: string | null, severity: string}[]>} what is wrong with leaves */
    this.problems = new Map();
    /** @type {Promise<any> | null} */
    this.listed = null;
    for (const level of model.levels) this.add(level);
  }

  /**
   * What the server says of this model, at a path.
   * @param {string} path
   */
  get(path) {
    return get(`${this.prefix}${path}`);
  }

  /**
   * The answer to a request that computes something of this model.
   * @param {string} path
   * @param {any} body
   */
  post(path, body) {
    return post(`${this.prefix}${path}`, body);
  }

  /**
   * The address of a file of this model; null in a saved page.
   * @param {string} path
   */
  address(path) {
    return address(`${this.prefix}${path}`);
  }

  /** @param {Level} level */
  add(level) {
    this.levels.set(level.number, level);
    for (const [value, name] of Object.entries(level.names)) this.names.set(Number(value), name);
    for (const [value, type] of Object.entries(level.types)) this.types.set(Number(value), type);
    return level;
  }

  /**
   * @param {number} number
   * @returns {Promise<Level>}
   */
  async level(number) {
    return this.levels.get(number) || this.add(await this.get(`level/${number}`));
  }

  /** Fetch the types of all values that are known here. */
  async fetchTypes() {
    for (const [value, type] of Object.entries(await this.get("types"))) this.types.set(Number(value), type);
    this.settleTypes();
  }

  /** The names of all nodes, their operators and levels. */
  index() {
    this.listed = this.listed || this.get("index");
    return this.listed;
  }

  /**
   * The text on a line.
   * @param {Track} track
   */
  label(track) {
    if (track.values.length > 1) return `${track.values.length} values`;
    return this.types.get(track.values[0]) || "";
  }
}
