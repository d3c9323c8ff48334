/** The reward histogram, which is also a filter: counts in equal bins, and values under a drag. */

/** Count values in equal bins. Values outside the range go to the first or last bin.
 * @param {ArrayLike<number>} values @param {number} lo @param {number} hi @param {number} bins
 * @returns {number[]} */
export function bin(values, lo, hi, bins) {
  const out = new Array(bins).fill(0);
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v === undefined || Number.isNaN(v)) continue;
    out[Math.max(0, Math.min(bins - 1, Math.floor(((v - lo) / (hi - lo)) * bins)))]++;
  }
  return out;
}

/** The range of values under a drag from share `a` to share `b` of the width, rounded to four
 * digits.
 * @param {number} a @param {number} b @param {number} lo @param {number} hi @param {number} bins
 * @returns {[number, number]} */
export function stretch(a, b, lo, hi, bins) {
  const first = Math.max(0, Math.floor(Math.min(a, b) * bins)),
    last = Math.min(bins, Math.max(first + 1, Math.ceil(Math.max(a, b) * bins)));
  const tidy = (/** @type {number} */ v) => Number(v.toPrecision(4));
  return [tidy(lo + ((hi - lo) * first) / bins), tidy(lo + ((hi - lo) * last) / bins)];
}
