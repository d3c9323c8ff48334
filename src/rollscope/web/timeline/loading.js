/** What the timeline shows: its lanes, the view, the spans of it, and the answer for the step. */

import { signal } from "@preact/signals";
import { unpack } from "../base/chart/points.js";
import { columns, get, part } from "../wire/api.js";

/** @typedef {{origin_ns: number, seconds: number, spans: number, names: string[], steps: number[],
 *   starts: number[], ends: number[], open: Open[],
 *   tracks: import("../base/timeline/lanes.js").Track[]}} Index */
/** A span that has begun and not ended.
 * @typedef {{name: string, lane: string, kind: string, sample: string | null, start_s: number,
 *   seconds: number, alive: boolean}} Open */
/** A machine over the stretch of the tile: shares, null where nothing was measured.
 * @typedef {{host: string, device: string, unit: string, busy: (number | null)[],
 *   full: (number | null)[]}} Strip */
/** Spans of a stretch that is wider than the view, and how many lanes and names the run had then.
 * @typedef {{lo: number, hi: number, exact: boolean, spans: number, samples: string[],
 *   tracks: number, names: number,
 *   start: Float64Array, end: Float64Array, track: Uint32Array, name: Uint32Array,
 *   flags: Uint8Array, count: Uint32Array, version: Int32Array, sample: Int32Array,
 *   row: Uint32Array}} Tile */

/** Seconds since the first span: from, to. */
export const view = signal(/** @type {[number, number]} */ ([0, 1]));
export const tile = signal(/** @type {Tile | null} */ (null));
/** The machines, over the stretch `lo` to `hi`. */
export const machines = signal(/** @type {{lo: number, hi: number, strips: Strip[]}} */ ({ lo: 0, hi: 1, strips: [] }));
/** The span that keys move along and Enter opens, by its place in the tile. */
export const at = signal(-1);
export const hovered = signal(-1);
export const selected = signal(/** @type {[number, number] | null} */ (null));
export const byVersion = signal(false);

/** Counts up when spans came on lanes that the index does not have: it is to be read again. */
export const outgrown = signal(0);

const WAIT_MS = 60;
/** Pixels of the first spans, which are asked for before the page has a width: the server writes
 * the same request into the page. */
const PIXELS = 4096;
/** @type {AbortController | null} */
let flying = null;
let timer = 0;
/** Spans are to come even if some are here that serve the view. */
let wanted = false;
/** The run whose first spans are on their way. */
let beginning = "";
/** The index that is drawn. @type {Index | null} */
let known = null;

/** Does a tile serve a view, sharp enough? @param {Tile | null} t @param {[number, number]} v */
const serves = (t, [lo, hi]) =>
  t !== null && t.lo <= lo && t.hi >= hi && (t.exact || t.hi - t.lo <= 8 * (hi - lo)) && t.hi - t.lo < 400 * (hi - lo);

/** Are the lanes and names of spans those of the index? @param {{tracks: number, names: number}} t
 * @param {Index} index */
const fits = (t, index) => t.tracks === index.tracks.length && t.names === index.names.length;

/** Ask for the first spans by what the address says, before the lanes are known.
 * @param {string} run @param {number | null} step @param {[number, number] | null} stretch */
export function begin(run, step, stretch) {
  [tile.value, machines.value] = [null, { lo: 0, hi: 1, strips: [] }];
  [beginning, known, wanted] = [run, null, false];
  clearTimeout(timer);
  const which = stretch ? `lo=${stretch[0]}&hi=${stretch[1]}&` : step === null ? "" : `step=${Math.floor(step)}&`;
  fetchTile(run, `${which}margin=1&pixels=${PIXELS}`).finally(() => {
    if (beginning === run) beginning = "";
  });
}

/** The index came, or came again: spans of other lanes go, and those of a run that grew come.
 * @param {string} run @param {Index} index */
export function renew(run, index) {
  const grown = known !== null;
  known = index;
  if (tile.peek() && !fits(/** @type {Tile} */ (tile.peek()), index)) tile.value = null;
  if (grown || !tile.peek()) follow(run, innerWidth, true);
}

/** Fetch the spans around the view, unless they are here or on their way. @param {string} run
 * @param {number} width of the screen, in pixels @param {boolean} [always] */
export function follow(run, width, always = false) {
  if (beginning === run) return;
  clearTimeout(timer);
  wanted ||= always;
  if (!wanted && serves(tile.peek(), view.peek())) return;
  timer = setTimeout(
    () => {
      wanted = false;
      const [lo, hi] = view.peek();
      fetchTile(run, `lo=${lo}&hi=${hi}&margin=1&pixels=${Math.round(3 * width)}`);
    },
    tile.peek() ? WAIT_MS : 0,
  );
}

/** @param {string} run @param {string} query */
async function fetchTile(run, query) {
  flying?.abort();
  const mine = (flying = new AbortController());
  try {
    const { head, columns: c } = unpack(await columns(`runs/${part(run)}/timeline/spans?${query}`, mine.signal));
    if (known && !fits(head, known)) {
      outgrown.value++;
      return;
    }
    tile.value = /** @type {Tile} */ ({ .../** @type {any} */ (head), .../** @type {any} */ (c) });
    [at.value, hovered.value] = [-1, -1];
    const stretch = `lo=${head.lo}&hi=${head.hi}`;
    const { strips } = await get(`runs/${part(run)}/timeline/strips?${stretch}&points=600`);
    if (mine === flying) machines.value = { lo: head.lo, hi: head.hi, strips };
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "AbortError") throw error;
  }
}

/** The key of a span of the tile. @param {string} run @param {number} i */
export async function keyOf(run, i) {
  const row = tile.peek()?.row[i] ?? 0;
  return (await get(`runs/${part(run)}/timeline/keys?row=${row}`)).key;
}
