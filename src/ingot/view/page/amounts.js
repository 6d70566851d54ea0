// Numbers with units, for people.
// @ts-check

/** @param {number} seconds */
export function secondsText(seconds) {
  if (seconds >= 1) return `${seconds.toPrecision(3)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toPrecision(3)} ms`;
  return `${(seconds * 1e6).toPrecision(seconds >= 1e-4 ? 3 : 2)} µs`;
}

/**
 * `1.25 M` and the like.
 * @param {number} amount
 * @param {string} unit
 */
export function scaledText(amount, unit) {
  for (const [size, prefix] of /** @type {[number, string][]} */ ([[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]))
    if (amount >= size) return `${(amount / size).toPrecision(3)} ${prefix}${unit}`;
  return `${Math.round(amount)} ${unit}`;
}

/** @param {number} error */
export function errorText(error) {
  if (error === 0) return "equal";
  return error >= 1e299 ? "not comparable" : error < 1e-2 ? error.toExponential(1) : error.toPrecision(2);
}

/**
 * The greatest of some amounts, however many: a call takes some hundred thousand arguments at most.
 * @param {Iterable<number>} amounts
 * @param {number} least  where there are none, or none is greater
 */
export function greatest(amounts, least) {
  let most = least;
  for (const amount of amounts) most = Math.max(most, amount);
  return most;
}
