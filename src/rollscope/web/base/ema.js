/** Exponential smoothing that knows how far apart points are, how much each stands for, and what came before the first. Gaps stay gaps and do not reset it. */

/** @typedef {{X: ArrayLike<number>, Mid: ArrayLike<number | null>, N: ArrayLike<number>}} Points */

/** `weight` is per `unit` of x: 0.8 keeps 80 % of the old from one unit to the next, wherever the buckets lie; a bucket of n points counts n times.
 * Points `before` the first only warm it up, so that a zoomed chart shows the values of the whole one.
 * @param {Points} points @param {number} weight @param {number} [unit] @param {Points | null} [before] @returns {(number | null)[]} */
export function ema(points, weight, unit = 1, before = null) {
  let total = 0,
    mass = 0,
    last = NaN;
  const through = (/** @type {Points} */ { X, Mid, N }) => {
    const out = new Array(Mid.length).fill(null);
    for (let i = 0; i < Mid.length; i++) {
      const v = Mid[i];
      if (v === null || v === undefined || !Number.isFinite(v)) continue;
      const at = /** @type {number} */ (X[i]);
      const keep = Number.isNaN(last) ? 0 : weight ** Math.max(0, (at - last) / unit);
      const n = N[i] || 1;
      total = total * keep + v * n;
      mass = mass * keep + n;
      out[i] = total / mass;
      last = at;
    }
    return out;
  };
  if (before) through(before);
  return through(points);
}
