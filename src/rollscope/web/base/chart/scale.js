/** Which range an axis shows. Non-finite values never reach it, one outlier need not, and a constant gets room. */

/** @typedef {[number, number]} Range */

/** Smallest and largest finite value of any columns, or null. @param {ArrayLike<number | null | undefined>[]} columns @returns {Range | null} */
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

/** Without the outermost share of the values: what most of a spiky series is about. @param {ArrayLike<number | null>[]} columns @param {number} [share] @returns {Range | null} */
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

/** Is it one number, to rounding? @param {Range} range */
export const isConstant = ([lo, hi]) => hi - lo <= Math.max(Math.abs(lo), Math.abs(hi)) * 1e-9;

/** The axis: pinned where a range is declared, padded by 6 % elsewhere; a constant sits in the middle of ± 5 % (± 1 at 0).
 * Data outside a declared range still shows: an end gives way. @param {Range | null} data @param {[number | null, number | null]} [declared] @returns {Range} */
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

/** As `axis`, for a logarithmic axis: only what is above 0 counts. @param {ArrayLike<number | null>[]} columns @returns {Range | null} */
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

/** Where symlog turns linear: the tenth percentile of the sizes, as a power of ten. @param {ArrayLike<number | null>[]} columns */
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
