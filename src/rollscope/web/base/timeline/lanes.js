/** Where lanes stand on the screen, and which pixels a span takes. Pure: no DOM. */

/** @typedef {{lane: string, unit: string, number: number}} Track */
/** A lane on the screen: its track, the top of its row, and its words at the left.
 * @typedef {{track: number, top: number, label: string}} Row */
/** @typedef {{rows: Row[], heads: {top: number, label: string}[], height: number, lane: number,
 *   topOf: Map<number, number>, strips: {top: number, strip: number, label: string}[]}} Layout */
/** A machine under the lanes of a unit. @typedef {{unit: string, host: string, device: string}}
 * Machine */

const HEAD = 18;
const GAP = 6;
const MANY = 40;
export const STRIP = 18;

/** Units with several tracks get a heading; others a row with their name. A machine stands under
 * the lanes of its unit, one without a unit below all.
 * @param {Track[]} tracks @param {Machine[]} [machines] @returns {Layout} */
export function layout(tracks, machines = []) {
  const lane = tracks.length > MANY ? 8 : 14;
  /** @type {Row[]} */
  const rows = [];
  /** @type {{top: number, label: string}[]} */
  const heads = [];
  const sizes = new Map();
  for (const { unit } of tracks) sizes.set(unit, (sizes.get(unit) ?? 0) + 1);
  /** @type {{top: number, strip: number, label: string}[]} */
  const strips = [];
  const placeStrips = (/** @type {string} */ of) =>
    machines.forEach((m, strip) => {
      if (m.unit !== of) return;
      strips.push({ top, strip, label: m.device.startsWith("gpu") ? m.device : m.host || "machine" });
      top += STRIP;
    });
  let top = 0;
  let unit = "";
  let part = "";
  tracks.forEach((t, track) => {
    const several = (sizes.get(t.unit) ?? 0) > 1;
    const word = t.unit.split("/")[0] ?? "";
    if (t.unit !== unit && (several || word !== part)) {
      top += rows.length ? GAP : 0;
      heads.push({ top, label: several ? t.unit : word });
      top += HEAD;
    }
    [unit, part] = [t.unit, several ? "" : word];
    rows.push({ track, top, label: several ? slot(t) : t.lane });
    top += lane;
    if (tracks[track + 1]?.unit !== t.unit) placeStrips(t.unit);
  });
  placeStrips("");
  return { rows, heads, height: top + GAP, lane, topOf: new Map(rows.map((r) => [r.track, r.top])), strips };
}

/** The words of a track below the heading of its unit. @param {Track} t */
const slot = (t) =>
  t.lane === t.unit ? (t.number ? `itself, ${t.number + 1}` : "itself") : `slot ${t.lane.slice(t.unit.length + 1)}`;

/** The row at a height. @param {Layout} l @param {number} y */
export const rowAt = (l, y) => l.rows.find((r) => y >= r.top && y < r.top + l.lane) ?? null;

/** Zoom around a moment; at least a microsecond wide, at most the whole run and a tenth.
 * @param {[number, number]} view @param {number} at @param {number} factor @param {number} seconds
 * @returns {[number, number]} */
export function zoomed([lo, hi], at, factor, seconds) {
  const width = Math.min(Math.max((hi - lo) * factor, 1e-6), seconds * 1.1 + 1e-6);
  const share = hi > lo ? (at - lo) / (hi - lo) : 0.5;
  return kept([at - share * width, at + (1 - share) * width], seconds);
}

/** A view moved back to where there is something. @param {[number, number]} view
 * @param {number} seconds @returns {[number, number]} */
export function kept([lo, hi], seconds) {
  const width = hi - lo;
  const low = Math.min(Math.max(lo, -0.05 * seconds - width / 2), seconds * 1.05 - width / 2);
  return [low, low + width];
}

/** The first track and the number of tracks whose rows a screen shows. @param {Layout} l
 * @param {number} from @param {number} to @returns {[number, number]} */
export function seen(l, from, to) {
  let first = l.rows.findIndex((r) => r.top + l.lane >= from);
  if (first < 0) first = l.rows.length;
  let last = first;
  while (last < l.rows.length && /** @type {Row} */ (l.rows[last]).top <= to) last++;
  return [first, last - first];
}

/** Paint spans of some tracks into one row of pixels each, later ones over earlier ones.
 * @param {Uint32Array} pixels @param {number} width
 * @param {{start: Float64Array, end: Float64Array, track: Uint32Array, name: Uint32Array,
 *   flags: Uint8Array, version: Int32Array}} spans
 * @param {[number, number]} view @param {(i: number) => number} colour
 * @param {[number, number]} [tracks] the first one and how many */
export function paint(pixels, width, spans, [lo, hi], colour, [first, many] = [0, pixels.length / width]) {
  const scale = width / (hi - lo);
  const { start, end, track } = spans;
  pixels.fill(0);
  for (let i = 0; i < start.length; i++) {
    const a = /** @type {number} */ (start[i]);
    const b = /** @type {number} */ (end[i]);
    const below = /** @type {number} */ (track[i]) - first;
    if (b < lo || a > hi || below < 0 || below >= many) continue;
    const from = Math.max(0, Math.floor((a - lo) * scale));
    const to = Math.min(width, Math.max(from + 1, Math.floor((b - lo) * scale)));
    const row = below * width;
    if (to === from + 1)
      pixels[row + from] = colour(i); // most of a far view: a call takes longer
    else pixels.fill(colour(i), row + from, row + to);
  }
}

/** The innermost span of a track at a moment, or -1; `reach` is how far beside it counts.
 * @param {{start: Float64Array, end: Float64Array, track: Uint32Array}} spans @param {number} track
 * @param {number} at @param {number} reach */
export function spanAt(spans, track, at, reach) {
  let best = -1;
  for (let i = 0; i < spans.start.length; i++) {
    if (spans.track[i] !== track) continue;
    const a = /** @type {number} */ (spans.start[i]);
    if (a - reach > at || /** @type {number} */ (spans.end[i]) + reach < at) continue;
    if (best < 0 || a >= /** @type {number} */ (spans.start[best])) best = i;
  }
  return best;
}
