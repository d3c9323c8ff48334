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
/** Spans of a stretch that is wider than the view.
 * @typedef {{lo: number, hi: number, exact: boolean, spans: number, samples: string[],
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

const WAIT_MS = 60;
/** @type {AbortController | null} */
let flying = null;
let timer = 0;

/** Does a tile serve a view, sharp enough? @param {Tile | null} t @param {[number, number]} v */
const serves = (t, [lo, hi]) =>
  t !== null && t.lo <= lo && t.hi >= hi && (t.exact || t.hi - t.lo <= 8 * (hi - lo)) && t.hi - t.lo < 400 * (hi - lo);

/** Fetch the spans around the view, unless they are here. @param {string} run
 * @param {number} width of the screen, in pixels @param {boolean} [always] */
export function follow(run, width, always = false) {
  if (!always && serves(tile.peek(), view.peek())) return;
  clearTimeout(timer);
  timer = setTimeout(() => fetchTile(run, width), tile.peek() ? WAIT_MS : 0);
}

/** @param {string} run @param {number} width */
async function fetchTile(run, width) {
  flying?.abort();
  const mine = (flying = new AbortController());
  const [lo, hi] = view.peek();
  const [from, to] = [2 * lo - hi, 2 * hi - lo];
  const path = `runs/${part(run)}/timeline/spans?lo=${from}&hi=${to}&pixels=${Math.round(3 * width)}`;
  try {
    const { head, columns: c } = unpack(await columns(path, mine.signal));
    const { exact, spans, samples } = head;
    tile.value = /** @type {Tile} */ ({ lo: from, hi: to, exact, spans, samples, .../** @type {any} */ (c) });
    [at.value, hovered.value] = [-1, -1];
    const { strips } = await get(`runs/${part(run)}/timeline/strips?lo=${from}&hi=${to}&points=600`);
    if (mine === flying) machines.value = { lo: from, hi: to, strips };
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "AbortError") throw error;
  }
}

/** The key of a span of the tile. @param {string} run @param {number} i */
export async function keyOf(run, i) {
  const row = tile.peek()?.row[i] ?? 0;
  return (await get(`runs/${part(run)}/timeline/keys?row=${row}`)).key;
}
