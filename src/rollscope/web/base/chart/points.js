/** Decode packed columns into points that a chart can draw, and smooth them. "No data" becomes a
 * gap, NaN and infinities become marks. Only finite numbers reach the scales. */

import { extent } from "./scale.js";

/** @typedef {{name: string, type: string, length: number, at: number}} Column */
/** @typedef {{run: string, name: string, nan: number[][], up: number[][],
 *   down: number[][]}} SeriesHead */
/** @typedef {{x: string, lo: number, hi: number, width: number, n: number, series: SeriesHead[],
 *   columns: Column[]}} Head */

/** The points of one series on one chart. X has no empty buckets. Break[i] is 1 where a new line
 * starts. On another clock, Step[i] is the step of the point. `before` holds points ahead of the
 * window, which warm up the smoothing.
 * @typedef {{run: string, name: string, Step?: Float64Array, X: Float64Array, Lo: Float64Array,
 *   Hi: Float64Array, Mid: Float64Array, Last: Float64Array, N: Uint32Array, Break: Uint8Array,
 *   marks: {nan: [number, number][], up: [number, number][], down: [number, number][]},
 *   gaps: number, width: number,
 *   before?: {X: Float64Array, Mid: Float64Array, N: Uint32Array}}} Series */

const TYPES = /** @type {Record<string, any>} */ ({
  f32: Float32Array,
  f64: Float64Array,
  u32: Uint32Array,
  i32: Int32Array,
  u8: Uint8Array,
});

/** Read `u32 header length, JSON header, aligned columns`.
 * @param {ArrayBuffer} buffer @returns {{head: any, columns: Record<string, any>}} */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  /** @type {Record<string, any>} */
  const columns = {};
  for (const { name, type, length: n, at } of head.columns) columns[name] = new TYPES[type](buffer, 4 + length + at, n);
  return { head, columns };
}

/** Decode every series of a reply.
 * @param {ArrayBuffer} buffer @returns {{head: Head, x: Float64Array, series: Series[]}} */
export function decodeSeries(buffer) {
  const { head, columns } = unpack(buffer);
  const x = columns.x;
  const n = head.n;
  const series = head.series.map((/** @type {SeriesHead} */ s, /** @type {number} */ i) =>
    points(s, x, head, {
      lo: columns.min.subarray(i * n, i * n + n),
      hi: columns.max.subarray(i * n, i * n + n),
      mid: columns.mean.subarray(i * n, i * n + n),
      last: columns.last.subarray(i * n, i * n + n),
      count: columns.count.subarray(i * n, i * n + n),
      step: columns.step?.subarray(i * n, i * n + n),
    }),
  );
  return { head, x, series };
}

/** Turn the buckets of one series into points, gaps and marks.
 * @param {SeriesHead} s @param {ArrayLike<number>} x @param {{width: number}} head
 * @param {{lo: ArrayLike<number>, hi: ArrayLike<number>, mid: ArrayLike<number>,
 *   last: ArrayLike<number>, count: ArrayLike<number>, step?: ArrayLike<number>}} c `step` is that
 *   of a bucket's last point, on an axis of another clock
 * @returns {Series} */
export function points(s, x, head, c) {
  const keep = [];
  for (let i = 0; i < x.length; i++) if (c.count[i] && Number.isFinite(c.mid[i])) keep.push(i);
  const far = c.step ? skipped(keep, c.step, c.count) : spread(keep);
  const m = keep.length;
  const logged = new Set([...s.nan, ...s.up, ...s.down].map((pair) => pair[0]));
  const out = {
    run: s.run,
    name: s.name,
    width: head.width,
    gaps: 0,
    X: new Float64Array(m),
    Lo: new Float64Array(m),
    Hi: new Float64Array(m),
    Mid: new Float64Array(m),
    Last: new Float64Array(m),
    N: new Uint32Array(m),
    Break: new Uint8Array(m),
    ...(c.step ? { Step: new Float64Array(m) } : {}),
    marks: { nan: marks(s.nan, x), up: marks(s.up, x), down: marks(s.down, x) },
  };
  for (let k = 0; k < m; k++) {
    const i = /** @type {number} */ (keep[k]);
    out.X[k] = /** @type {number} */ (x[i]);
    out.Lo[k] = finite(c.lo[i], c.mid[i]);
    out.Hi[k] = finite(c.hi[i], c.mid[i]);
    out.Mid[k] = /** @type {number} */ (c.mid[i]);
    out.Last[k] = finite(c.last[i], c.mid[i]);
    out.N[k] = /** @type {number} */ (c.count[i]);
    if (out.Step) out.Step[k] = /** @type {number} */ (c.step?.[i]);
    if (k && (far(k) || between(logged, /** @type {number} */ (keep[k - 1]), i))) {
      out.Break[k] = 1;
      out.gaps++;
    }
  }
  return out;
}

/** Is point k farther from the one before than points usually are? @param {number[]} keep */
function spread(keep) {
  const cell = usual(keep);
  return (/** @type {number} */ k) =>
    /** @type {number} */ (keep[k]) - /** @type {number} */ (keep[k - 1]) > cell * 1.5;
}

/** Were steps left out between point k and the one before? On a clock, a slow step or a pause
 * leaves buckets empty although no value is missing, so the steps of the points decide.
 * @param {number[]} keep @param {ArrayLike<number>} step @param {ArrayLike<number>} count */
function skipped(keep, step, count) {
  const steps = keep.map((i) => /** @type {number} */ (step[i]));
  const each = steps.slice(1).map((s, k) => (s - (steps[k] ?? 0)) / (count[keep[k + 1] ?? 0] || 1));
  const pace = median(each);
  return (/** @type {number} */ k) => {
    const first = (steps[k] ?? 0) - ((count[keep[k] ?? 0] || 1) - 1) * pace;
    return first - (steps[k - 1] ?? 0) > pace * 1.5;
  };
}

/** The median distance between points, in buckets. An evaluation every 50 steps has no 49 missing
 * values.
 * @param {number[]} keep */
export function usual(keep) {
  if (keep.length < 3) return keep.length < 2 ? 1 : /** @type {number} */ (keep[1]) - /** @type {number} */ (keep[0]);
  return median(keep.slice(1).map((v, i) => v - /** @type {number} */ (keep[i])));
}

/** @param {number[]} values */
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 1;

/** @param {Set<number | undefined>} logged @param {number} a @param {number} b */
function between(logged, a, b) {
  for (let i = a + 1; i < b; i++) if (logged.has(i)) return true;
  return false;
}

/** @param {number[][]} pairs @param {ArrayLike<number>} x @returns {[number, number][]} */
const marks = (pairs, x) => pairs.map(([i = 0, n = 0]) => [/** @type {number} */ (x[i]), n]);

/** @param {number | undefined} v @param {number | undefined} other */
const finite = (v, other) => (v !== undefined && Number.isFinite(v) ? v : /** @type {number} */ (other));

/** Index of the point nearest to x, or -1 if it is farther than `reach`.
 * @param {Float64Array} X @param {number} x @param {number} [reach] */
export function nearest(X, x, reach = Infinity) {
  let lo = 0,
    hi = X.length - 1;
  if (hi < 0) return -1;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (/** @type {number} */ (X[mid]) <= x) lo = mid;
    else hi = mid;
  }
  const best = Math.abs(/** @type {number} */ (X[lo]) - x) <= Math.abs(/** @type {number} */ (X[hi]) - x) ? lo : hi;
  return Math.abs(/** @type {number} */ (X[best]) - x) <= reach ? best : -1;
}

/** Index ranges without a break, as [start, end).
 * @param {Series} s @returns {[number, number][]} */
export function stretches(s) {
  /** @type {[number, number][]} */
  const out = [];
  let start = 0;
  for (let i = 1; i <= s.X.length; i++) {
    if (i === s.X.length || s.Break[i]) {
      out.push([start, i]);
      start = i;
    }
  }
  return s.X.length ? out : [];
}

/** @typedef {{X: ArrayLike<number>, Mid: ArrayLike<number | null>, N: ArrayLike<number>}} Points */

/** Exponential smoothing by distance: over one `unit` of x, a `weight` of 0.8 keeps 80 % of the old
 * mean. A bucket of n points counts n times. Gaps stay gaps and do not reset the mean. Points
 * `before` the first only warm it up, so a zoomed chart shows the same values as the full one.
 * @param {Points} points @param {number} weight @param {number} [unit]
 * @param {Points | null} [before] @returns {(number | null)[]} */
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

/** The range that 0 to 1 stands for: the known range, else the range of the data. A constant has
 * none.
 * @param {(number | null)[]} known @param {Series[]} series @returns {[number, number] | null} */
export function rangeToNormalise([lo, hi], series) {
  if (typeof lo === "number" && typeof hi === "number") return [lo, hi];
  const data = extent(series.flatMap((s) => [s.Lo, s.Hi]));
  return data && data[1] > data[0] ? data : null;
}

/** The series with its values as shares of a range.
 * @param {Series} s @param {number} lo @param {number} hi @returns {Series} */
export function normalised(s, lo, hi) {
  const to = (/** @type {Float64Array} */ column) => column.map((v) => (v - lo) / (hi - lo || 1));
  const before = s.before ? { before: { ...s.before, Mid: to(s.before.Mid) } } : {};
  return { ...s, Lo: to(s.Lo), Hi: to(s.Hi), Mid: to(s.Mid), Last: to(s.Last), ...before };
}

/** The first and the last step of the values in bucket i, on another clock than that of steps.
 * @param {{Step?: Float64Array, N: Uint32Array}} s @param {number} i
 * @returns {[number, number] | null} */
export function stepsOf({ Step, N }, i) {
  const [last, n] = [Step?.[i], N[i] ?? 1];
  if (Step === undefined || last === undefined) return null;
  const before = Step[i - 1];
  const pace = before === undefined ? 1 : (last - before) / n;
  return [Math.round(last - (n - 1) * pace), last];
}

/** The usual distance between two points. @param {Series} s */
export function spacing(s) {
  const n = s.X.length;
  const [first, last] = [/** @type {number} */ (s.X[0]), /** @type {number} */ (s.X[n - 1])];
  return n > 1 ? Math.max(s.width, (last - first) / (n - 1)) : s.width;
}
