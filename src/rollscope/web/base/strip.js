/** A prompt's visits on the tape's x: a cell per visit, so narrow that cells of neighbouring steps do not cover each other, as high as its share of the largest count. */

/** @typedef {{x: number, width: number, height: number, mean: number, step: number}} Cell */

/** @param {ArrayLike<number>} steps @param {ArrayLike<number>} means @param {ArrayLike<number>} counts @param {{first: number, last: number, width: number, height: number}} frame @returns {Cell[]} */
export function cells(steps, means, counts, { first, last, width, height }) {
  const most = Math.max(1, ...Array.from(counts));
  const wide = Math.max(3, Math.min(12, width / Math.max(1, last - first + 1)));
  const place = (/** @type {number} */ s) => (last > first ? ((s - first) / (last - first)) * (width - wide) : 0);
  return Array.from(steps, (step, i) => ({ x: place(step), width: wide, height: Math.max(3, (height * (counts[i] ?? 0)) / most), mean: means[i] ?? NaN, step }));
}

/** The visit nearest to a place, within reach. @param {Cell[]} list @param {number} x @param {number} [reach] */
export function hit(list, x, reach = 8) {
  /** @type {Cell | null} */
  let best = null;
  for (const c of list) if (Math.abs(c.x + c.width / 2 - x) <= reach && (!best || Math.abs(c.x + c.width / 2 - x) < Math.abs(best.x + best.width / 2 - x))) best = c;
  return best;
}
