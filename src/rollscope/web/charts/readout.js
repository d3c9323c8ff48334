/** The values of a chart's series at one step: what is stored there, or, until that is known, the
 * mean of the bucket with the steps that it covers. */

import { nearest } from "../base/chart/points.js";
import { exact } from "../wire/exact.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** `from` and `to` are the steps that a mean covers; null for the value of the step itself.
 * @typedef {{value: number | null, among: [number, number] | null}} Reading */

/** The reading of a series at a step.
 * @param {Series} s @param {number} step @param {number} x the step on the axis that is shown
 * @param {boolean} onSteps is the axis that of steps? @returns {Reading} */
export function readingAt(s, step, x, onSteps) {
  if (onSteps && s.width <= 1) return { value: ownValue(s, step), among: null };
  const value = exact(s.run, s.name, step);
  if (value !== undefined) return { value, among: null };
  if (!onSteps) return { value: null, among: null };
  const i = nearest(s.X, x, s.width / 2 + 1e-9);
  if (i < 0) return { value: null, among: null };
  const centre = /** @type {number} */ (s.X[i]);
  const half = (s.width - 1) / 2;
  return { value: /** @type {number} */ (s.Mid[i]), among: [Math.ceil(centre - half), Math.floor(centre + half)] };
}

/** The value of a step in a series with a bucket for each step. @param {Series} s
 * @param {number} step */
function ownValue(s, step) {
  const i = nearest(s.X, step, 0.49);
  if (i >= 0) return /** @type {number} */ (s.Last[i]);
  const is = (/** @type {[number, number][]} */ marks) => marks.some(([x]) => Math.abs(x - step) < 0.49);
  return is(s.marks.nan) ? NaN : is(s.marks.up) ? Infinity : is(s.marks.down) ? -Infinity : null;
}
