/** Between steps and the other clocks of a run: the tape carries pairs of readings, what lies between is interpolated. */

import { tape, view } from "../state.js";

/** @param {number[]} from @param {number[]} to @param {number} v */
function between(from, to, v) {
  if (!from.length) return v;
  let [lo, hi] = [0, from.length - 1];
  if (v <= /** @type {number} */ (from[0])) return /** @type {number} */ (to[0]);
  if (v >= /** @type {number} */ (from[hi])) return /** @type {number} */ (to[hi]);
  while (hi - lo > 1) { const mid = (lo + hi) >> 1; if (/** @type {number} */ (from[mid]) <= v) lo = mid; else hi = mid; }
  const [a, b] = [/** @type {number} */ (from[lo]), /** @type {number} */ (from[hi])];
  const share = b > a ? (v - a) / (b - a) : 0;
  return /** @type {number} */ (to[lo]) + share * (/** @type {number} */ (to[hi]) - /** @type {number} */ (to[lo]));
}

/** @param {string} x @returns {[number[], number[]]} */
function pairs(x) {
  const clocks = tape.value?.clocks ?? {};
  const steps = clocks.step ?? [];
  const other = clocks[x] ?? [];
  /** @type {[number[], number[]]} */
  const out = [[], []];
  steps.forEach((s, i) => { const v = other[i]; if (s !== null && v !== null && v !== undefined) { out[0].push(s); out[1].push(v); } });
  return out;
}

/** A place on the axis that is shown, as a step. @param {number} x */
export function toStepOf(x) {
  if (view.value.x === "step") return x;
  const [steps, other] = pairs(view.value.x);
  return between(other, steps, x);
}

/** A step as a place on the axis that is shown. @param {number} step */
export function toAxis(step) {
  if (view.value.x === "step") return step;
  const [steps, other] = pairs(view.value.x);
  return between(steps, other, step);
}
