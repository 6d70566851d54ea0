// Numbers with units, for people.
// @ts-check

const PREFIXES = ["", "k", "M", "G", "T"];

/** @param {number} seconds */
export function secondsText(seconds) {
  const rounded = Number(seconds.toPrecision(3)); // 999.9 ms are 1 s
  if (rounded >= 1) return `${rounded < 1000 ? rounded.toPrecision(3) : Math.round(seconds)} s`;
  if (rounded >= 1e-3) return `${(rounded * 1e3).toPrecision(3)} ms`;
  return `${(rounded * 1e6).toPrecision(rounded >= 9.95e-5 ? 3 : 2)} µs`;
}

/**
 * `1.25 M` and the like.
 * @param {number} amount
 * @param {string} unit
 */
export function scaledText(amount, unit) {
  const rounded = Number(amount.toPrecision(3)), most = PREFIXES.length - 1;
  if (rounded < 1000) return `${Math.round(amount)} ${unit}`;
  const place = Math.min(most, Math.floor(Math.log10(rounded) / 3 + 1e-9)), scaled = rounded / 1000 ** place;
  return `${scaled < 1000 ? scaled.toPrecision(3) : Math.round(scaled)} ${PREFIXES[place]}${unit}`;
}

/**
 * A power of ten on an axis: `0.1`, `100`, `10 k`.
 * @param {number} power
 */
export function decadeText(power) {
  if (power < 3) return power < 0 ? (10 ** power).toPrecision(1) : `${10 ** power}`;
  const place = Math.min(PREFIXES.length - 1, Math.floor(power / 3));
  return `${10 ** (power - 3 * place)} ${PREFIXES[place]}`;
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
