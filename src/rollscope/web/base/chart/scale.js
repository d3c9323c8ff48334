/** The range of an axis, and places on it. Non-finite values never count, one outlier need not, a
 * constant gets room around it. */

/** @typedef {[number, number]} Range */

/** Smallest and largest finite value of any columns, or null.
 * @param {ArrayLike<number | null | undefined>[]} columns @returns {Range | null} */
export function extent(columns) {
  let lo = Infinity,
    hi = -Infinity;
  for (const column of columns) {
    for (let i = 0; i < column.length; i++) {
      const v = column[i];
      if (v === null || v === undefined || !Number.isFinite(v)) continue;
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
  }
  return lo <= hi ? [lo, hi] : null;
}

/** The range without the lowest and highest `share` of the values, for a series with spikes.
 * @param {ArrayLike<number | null>[]} columns @param {number} [share] @returns {Range | null} */
export function robust(columns, share = 0.01) {
  const values = [];
  for (const column of columns)
    for (let i = 0; i < column.length; i++) {
      const v = column[i];
      if (v !== null && v !== undefined && Number.isFinite(v)) values.push(v);
    }
  if (!values.length) return null;
  values.sort((a, b) => a - b);
  const cut = Math.floor(values.length * share);
  return [/** @type {number} */ (values[cut]), /** @type {number} */ (values[values.length - 1 - cut])];
}

/** True if both ends are the same number, up to rounding. @param {Range} range */
export const isConstant = ([lo, hi]) => hi - lo <= Math.max(Math.abs(lo), Math.abs(hi)) * 1e-9;

/** The range of the axis. A declared range pins it, other data gets 6 % of room, a constant sits in
 * the middle of ± 5 % (± 1 at 0). An end gives way to data outside the declared range.
 * @param {Range | null} data @param {[number | null, number | null]} [declared] @returns {Range} */
export function axis(data, declared = [null, null]) {
  const [floor, roof] = declared;
  if (!data) return [floor ?? 0, roof ?? (floor ?? 0) + 1];
  let [lo, hi] = data;
  if (floor !== null && roof !== null && lo >= floor && hi <= roof) return [floor, roof];
  if (isConstant(data)) {
    const room = lo === 0 ? 1 : Math.abs(lo) * 0.05;
    [lo, hi] = [lo - room, hi + room];
  } else {
    const room = (hi - lo) * 0.06;
    [lo, hi] = [lo - room, hi + room];
  }
  if (floor !== null && data[0] >= floor) lo = Math.max(lo, floor);
  if (roof !== null && data[1] <= roof) hi = Math.min(hi, roof);
  return lo < hi ? [lo, hi] : [lo, lo + 1];
}

/** The range of a logarithmic axis, from the values above 0.
 * @param {ArrayLike<number | null>[]} columns @returns {Range | null} */
export function logAxis(columns) {
  let lo = Infinity,
    hi = 0;
  for (const column of columns) {
    for (let i = 0; i < column.length; i++) {
      const v = column[i];
      if (v === null || v === undefined || !Number.isFinite(v) || v <= 0) continue;
      if (v < lo) lo = v;
      if (v > hi) hi = v;
    }
  }
  if (!hi) return null;
  const room = Math.max(1.05, (hi / lo) ** 0.05);
  return [lo / room, hi * room];
}

/** Where symlog turns linear: the tenth percentile of the absolute values, as a power of ten.
 * @param {ArrayLike<number | null>[]} columns */
export function linearZone(columns) {
  const sizes = [];
  for (const column of columns)
    for (let i = 0; i < column.length; i++) {
      const v = Math.abs(column[i] ?? 0);
      if (v > 0 && Number.isFinite(v)) sizes.push(v);
    }
  if (!sizes.length) return 1;
  sizes.sort((a, b) => a - b);
  return 10 ** Math.floor(Math.log10(/** @type {number} */ (sizes[Math.floor(sizes.length / 10)])));
}

/** Map a value between two columns of matching readings, both ascending. Between readings it is
 * linear.
 * @param {number[]} from @param {number[]} to @param {number} v */
export function interpolate(from, to, v) {
  if (!from.length) return v;
  let [lo, hi] = [0, from.length - 1];
  if (v <= at(from, 0)) return at(to, 0);
  if (v >= at(from, hi)) return at(to, hi);
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (at(from, mid) <= v) lo = mid;
    else hi = mid;
  }
  const [a, b] = [at(from, lo), at(from, hi)];
  const share = b > a ? (v - a) / (b - a) : 0;
  return at(to, lo) + share * (at(to, hi) - at(to, lo));
}

/** Readings of two clocks at the steps where both have one.
 * @param {(number | null)[]} steps @param {(number | null)[]} other @returns {[number[], number[]]}
 */
export function bothRead(steps, other) {
  /** @type {[number[], number[]]} */
  const out = [[], []];
  steps.forEach((s, i) => {
    const v = other[i];
    if (s === null || v === null || v === undefined) return;
    out[0].push(s);
    out[1].push(v);
  });
  return out;
}

/** @param {number[]} column @param {number} i */
const at = (column, i) => /** @type {number} */ (column[i]);
