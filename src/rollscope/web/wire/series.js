/** Series for a screen in one request. Cards say which metrics they want; all metrics wanted in the
 * same frame go out together, on one x grid. A new view aborts the old request. The old drawing
 * stays until new numbers come. */

import { effect, signal, untracked } from "@preact/signals";
import { decodeSeries } from "../base/chart/points.js";
import { packed, post } from "./api.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** `warm` asks for points before the window too, for smoothing.
 * @typedef {{x: string, lo: number | null, hi: number | null, from: number, points: number,
 *   warm?: boolean, env?: string}} Window */
/** @typedef {{series: Series[], lo: number, hi: number, stale: boolean, error: string,
 *   requested: number}} Answer */

/** The window that all cards share; pages set it.
 * @type {import("@preact/signals").Signal<Window>} */
export const window_ = signal({ x: "step", lo: null, hi: null, from: 0, points: 400 });
/** Runs on the charts; the run of the page is first.
 * @type {import("@preact/signals").Signal<string[]>} */
export const shown = signal(/** @type {string[]} */ ([]));
/** The run that the others on the charts are held against; "": none. */
export const baseline = signal("");

/** The metrics that cards want. `near` counts plots in view; their metrics are requested first.
 * @type {Map<string, {answer: import("@preact/signals").Signal<Answer>, users: number,
 *   near: number, key: string, base: string, runs: string[]}>} */
const wanted = new Map();
let version = 0;
/** @type {AbortController | null} */
let flying = null;
let inFlight = 0; // requests for series
let scheduled = 0;
const AT_ONCE = 120; // metrics of a request; a page that is printed has a thousand
const LATER = 100; // ms until metrics out of view are requested
let lastKey = "";

/** @param {string} name */
function wantedEntry(name) {
  const entry = wanted.get(name) ?? {
    answer: signal({ series: [], lo: 0, hi: 1, stale: true, error: "", requested: 0 }),
    users: 0,
    near: 0,
    key: "",
    base: "",
    runs: [],
  };
  wanted.set(name, entry);
  return entry;
}

/** Subscribe to a metric. The signal holds the newest answer. @param {string} name */
export function want(name) {
  const entry = wantedEntry(name);
  entry.users++;
  schedule();
  return entry.answer;
}

/** Request the metrics of the first screen before its cards exist, so the server reads while the
 * browser lays out.
 * @param {string[]} names */
export function ahead(names) {
  const entries = names.map(wantedEntry);
  for (const entry of entries) entry.users++;
  untracked(fetchWanted);
  for (const entry of entries) entry.users--;
}

/** Note that a plot of the metric came into view, or left it.
 * @param {string} name @param {number} by */
export function nearer(name, by) {
  const entry = wanted.get(name);
  if (entry) entry.near += by;
  if (by > 0) schedule();
}

/** End a subscription. @param {string} name */
export function drop(name) {
  const entry = wanted.get(name);
  if (entry && --entry.users <= 0)
    setTimeout(() => {
      if (entry.users <= 0 && wanted.get(name) === entry && wanted.size > 120) wanted.delete(name);
    });
}

/** Request everything on screen again, because new rows were recorded. */
export function refresh() {
  version++;
  schedule();
}

/** Request a metric again after a failure. @param {string} name */
export function again(name) {
  const entry = wanted.get(name);
  if (entry) entry.key = "";
  schedule();
}

const base = () => JSON.stringify([window_.value, version]);
const key = () => base() + shown.value.join();

/** Request after every observer of this frame has run. @param {number} [wait] ms */
function schedule(wait = 0) {
  if (scheduled && wait) return;
  clearTimeout(scheduled);
  scheduled = setTimeout(() => {
    scheduled = 0;
    untracked(fetchWanted);
  }, wait);
}

async function fetchWanted() {
  const now = key();
  const open = [...wanted].filter(([, entry]) => entry.users > 0 && entry.key !== now);
  const inView = open.filter(([, entry]) => entry.near > 0);
  const names = (inView.length ? inView : open).slice(0, AT_ONCE).map(([name]) => name);
  if (!names.length || !shown.value.length) return;
  if (now !== lastKey) flying?.abort();
  lastKey = now;
  const mine = new AbortController();
  flying = mine;
  const [all, drawn] = [shown.value, base()];
  const old = held(names);
  const runs = old ? all.filter((run) => !old.runs.includes(run)) : all;
  for (const name of names) begin(name, now);
  const { x, lo, hi, from, points, warm, env = "" } = window_.value;
  const ask = (
    /** @type {number | null} */ a,
    /** @type {number | null} */ b,
    /** @type {[number, number] | null} */ grid,
  ) => packed("series", { runs, names, x, lo: a, hi: b, env, from, points, grid }, mine.signal).then(decodeSeries);
  inFlight++;
  try {
    const [reply, early] = runs.length
      ? await Promise.all([ask(lo, hi, old && [old.lo, old.hi]), warm && lo !== null ? ask(null, lo - 1, null) : null])
      : [null, null];
    if (old && reply && (reply.head.lo !== old.lo || reply.head.hi !== old.hi)) {
      forget(names); // the new run reaches further
      return;
    }
    if (early && reply)
      for (const s of reply.series) s.before = early.series.find((e) => e.run === s.run && e.name === s.name);
    const at = old ?? { lo: reply?.head.lo ?? 0, hi: reply?.head.hi ?? 1 };
    for (const name of names)
      settle(name, now, drawn, all, {
        series: [...(old ? seriesHere(name, all) : []), ...(reply?.series ?? []).filter((s) => s.name === name)],
        lo: at.lo,
        hi: at.hi,
        stale: false,
        error: "",
        requested: 0,
      });
    if (open.length > names.length) schedule(LATER); // what is in view draws first
  } catch (error) {
    const { name: kind, status, message } = /** @type {import("./api.js").ApiError} */ (error);
    // A notice says that the server is gone.
    const says = kind === "AbortError" ? null : status === 0 ? "" : message;
    for (const name of names) fail(name, now, says);
  } finally {
    inFlight--;
  }
}

/** The grid and runs that all these metrics already have in this window, or null. Then only other
 * runs are requested.
 * @param {string[]} names */
function held(names) {
  const now = base();
  const [first, ...rest] = names.map((name) => wanted.get(name));
  if (!first || first.base !== now || !first.runs.some((run) => shown.value.includes(run))) return null;
  const { lo, hi } = first.answer.peek();
  const same = rest.every(
    (e) =>
      e &&
      e.base === now &&
      e.runs.join() === first.runs.join() &&
      e.answer.peek().lo === lo &&
      e.answer.peek().hi === hi,
  );
  return same ? { lo, hi, runs: first.runs } : null;
}

/** The series of a metric that are here already. @param {string} name @param {string[]} runs */
const seriesHere = (name, runs) => (wanted.get(name)?.answer.peek().series ?? []).filter((s) => runs.includes(s.run));

/** Request these metrics from scratch. @param {string[]} names */
function forget(names) {
  for (const name of names) {
    const entry = wanted.get(name);
    if (entry) [entry.base, entry.key] = ["", ""];
  }
  schedule();
}

/** @param {string} name @param {string} now */
function begin(name, now) {
  const entry = wanted.get(name);
  if (!entry) return;
  entry.key = now;
  entry.answer.value = { ...entry.answer.peek(), stale: true, requested: performance.now() };
}

/** @param {string} name @param {string} now @param {string} drawn @param {string[]} runs
 * @param {Answer} answer */
function settle(name, now, drawn, runs, answer) {
  const entry = wanted.get(name);
  if (!entry || entry.key !== now) return;
  [entry.base, entry.runs] = [drawn, runs];
  entry.answer.value = answer;
}

/** @param {string} name @param {string} now @param {string | null} says null: it was aborted */
function fail(name, now, says) {
  const entry = wanted.get(name);
  if (entry?.key !== now) return;
  if (says === null) entry.key = "";
  else entry.answer.value = { ...entry.answer.peek(), stale: true, error: says, requested: 0 };
}

// ---- stored values at a step, for read-outs of charts whose buckets hold several

const SETTLE = 60; // ms that the caret must rest before a request leaves
const MOST = 20000; // values that are kept

/** Counts up when values arrived. */
export const arrived = signal(0);
/** Run, name and step -> the value; null: nothing was logged there.
 * @type {Map<string, number | null>} */
const known = new Map();
/** @type {Set<string>} */
let asked = new Set();
let [at, settling] = [NaN, 0];
/** @type {AbortController | null} */
let asking = null;

/** @param {string} run @param {string} name @param {number} step */
const place = (run, name, step) => `${step}\n${run}\n${name}`;

/** The stored value, null if nothing was logged at the step, undefined while it is not known. Asks
 * for it then.
 * @param {string} run @param {string} name @param {number} step
 * @returns {number | null | undefined} */
export function exact(run, name, step) {
  const value = known.get(place(run, name, step));
  if (value !== undefined) return value;
  if (step !== at) [at, asked] = [step, new Set()];
  if (!asked.has(name)) {
    asked.add(name);
    clearTimeout(settling);
    settling = setTimeout(request, SETTLE);
  }
  return undefined;
}

/** Forget everything: rows were recorded that may add to a step. */
export function forgetExact() {
  known.clear();
  asked = new Set();
}

/** Stop asking: a new window has buckets of another width. Its charts ask again if they need it. */
function dropExact() {
  clearTimeout(settling);
  asking?.abort();
  asked = new Set();
}

async function request() {
  if (inFlight) {
    settling = setTimeout(request, SETTLE); // lines come first; they may need no exact value
    return;
  }
  const [step, names, runs] = [at, [...asked], shown.value];
  if (!names.length || !runs.length) return;
  asking?.abort();
  asking = new AbortController();
  try {
    const reply = await post("values", { runs, names, step }, asking.signal);
    if (known.size > MOST) known.clear();
    for (const run of runs)
      for (const name of names) {
        const value = reply.runs[run]?.[name];
        known.set(place(run, name, step), value === undefined || value === null ? null : Number(value));
      }
    arrived.value++;
  } catch (error) {
    // Asked for again when the caret moves.
    if (/** @type {Error} */ (error).name !== "AbortError") asked = new Set();
  }
}

effect(() => {
  window_.value;
  shown.value;
  untracked(() => {
    dropExact();
    fetchWanted(); // at once, so the server reads while the page renders
  });
});
