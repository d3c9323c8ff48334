/** The strip of a prompt's visits: one cell per visit, placed like steps on the tape. Visits that
 * lie close make narrow cells. The height is the number of samples, relative to the largest visit.
 */

/** @typedef {{x: number, width: number, height: number, mean: number, step: number}} Cell */

/** Lay out the cells.
 * @param {ArrayLike<number>} steps @param {ArrayLike<number>} means
 * @param {ArrayLike<number>} counts
 * @param {{first: number, last: number, width: number, height: number}} frame @returns {Cell[]} */
export function cells(steps, means, counts, { first, last, width, height }) {
  const most = Math.max(1, ...Array.from(counts));
  const closest = Array.from(steps).reduce(
    (gap, step, i) => (i ? Math.min(gap, step - (steps[i - 1] ?? step)) : gap),
    Infinity,
  );
  const wide = Math.max(3, Math.min(10, (width * closest) / Math.max(1, last - first + 1)));
  const left = (/** @type {number} */ s) => (last > first ? ((s - first) / (last - first)) * (width - wide) : 0);
  return Array.from(steps, (step, i) => ({
    x: left(step),
    width: wide,
    height: Math.max(3, (height * (counts[i] ?? 0)) / most),
    mean: means[i] ?? NaN,
    step,
  }));
}

/** The cell nearest to x, or null if none is within `reach` pixels.
 * @param {Cell[]} list @param {number} x @param {number} [reach] */
export function hit(list, x, reach = 8) {
  /** @type {Cell | null} */
  let best = null;
  for (const c of list)
    if (
      Math.abs(c.x + c.width / 2 - x) <= reach &&
      (!best || Math.abs(c.x + c.width / 2 - x) < Math.abs(best.x + best.width / 2 - x))
    )
      best = c;
  return best;
}
