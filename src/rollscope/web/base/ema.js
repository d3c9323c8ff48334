/** Exponential smoothing that knows how far apart points are and starts without bias. Gaps stay gaps and do not reset it. */

/** `weight` is per `unit` of x: 0.8 keeps 80 % of the old from one step to the next, wherever the buckets lie.
 * @param {ArrayLike<number>} x @param {ArrayLike<number | null>} y @param {number} weight @param {number} [unit] @returns {(number | null)[]} */
export function ema(x, y, weight, unit = 1) {
  const out = new Array(y.length).fill(null);
  let total = 0, mass = 0, last = NaN;
  for (let i = 0; i < y.length; i++) {
    const v = y[i];
    if (v === null || v === undefined || !Number.isFinite(v)) continue;
    const at = /** @type {number} */ (x[i]);
    const keep = Number.isNaN(last) ? 0 : weight ** Math.max(0, (at - last) / unit);
    total = total * keep + v * (1 - weight);
    mass = mass * keep + (1 - weight);
    out[i] = mass > 0 ? total / mass : v;
    last = at;
  }
  return out;
}
