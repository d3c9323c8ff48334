/** Series for a screen in one request. Cards say what they want; what is wanted in the same frame goes out together, on one x grid.
 *  When the view changes, the old request is aborted, the old ink stays until the new one is here. */

import { effect, signal, untracked } from "@preact/signals";
import { decodeSeries } from "../base/decode.js";
import { packed } from "./api.js";

/** @typedef {import("../base/decode.js").Series} Series */
/** @typedef {{x: string, lo: number | null, hi: number | null, from: number, points: number, warm?: boolean}} Window (`warm`: what lies before is wanted too, for smoothing) */
/** @typedef {{series: Series[], lo: number, hi: number, stale: boolean, error: string, asked: number}} Answer */

/** The window all cards share; pages set it. @type {import("@preact/signals").Signal<Window>} */
export const window_ = signal({ x: "step", lo: null, hi: null, from: 0, points: 400 });
/** Runs on the charts, first is the run of the page. @type {import("@preact/signals").Signal<string[]>} */
export const shown = signal(/** @type {string[]} */ ([]));

/** `near` counts the plots in view: what they want goes out first, what is only coming nearer after it.
 * @type {Map<string, {answer: import("@preact/signals").Signal<Answer>, users: number, near: number, key: string}>} */
const wanted = new Map();
let version = 0;
/** @type {AbortController | null} */
let flying = null;
let scheduled = false;
let lastKey = "";

/** @param {string} name */
function known(name) {
  const entry = wanted.get(name) ?? { answer: signal({ series: [], lo: 0, hi: 1, stale: true, error: "", asked: 0 }), users: 0, near: 0, key: "" };
  wanted.set(name, entry);
  return entry;
}

/** Subscribe to a metric; the signal holds the newest answer. @param {string} name */
export function want(name) {
  const entry = known(name);
  entry.users++;
  schedule();
  return entry.answer;
}

/** Ask for what the first screen will show before its cards are made: the server reads while the browser lays out. @param {string[]} names */
export function ahead(names) {
  const entries = names.map(known);
  for (const entry of entries) entry.users++;
  untracked(fetchWanted);
  for (const entry of entries) entry.users--;
}

/** A plot of it came into view, or left it. @param {string} name @param {number} by */
export function nearer(name, by) {
  const entry = wanted.get(name);
  if (entry) entry.near += by;
  if (by > 0) schedule();
}

/** @param {string} name */
export function drop(name) {
  const entry = wanted.get(name);
  if (entry && --entry.users <= 0) setTimeout(() => { if (entry.users <= 0 && wanted.get(name) === entry && wanted.size > 120) wanted.delete(name); });
}

/** New rows were recorded: what is on screen is asked for again. */
export function refresh() {
  version++;
  schedule();
}

/** Try again after a failure. @param {string} name */
export function again(name) {
  const entry = wanted.get(name);
  if (entry) entry.key = "";
  schedule();
}

const key = () => JSON.stringify([window_.value, shown.value, version]);

function schedule() {
  if (scheduled) return;
  scheduled = true;
  setTimeout(() => { scheduled = false; untracked(fetchWanted); }); // after every observer of this frame has spoken
}

async function fetchWanted() {
  const now = key();
  const open = [...wanted].filter(([, entry]) => entry.users > 0 && entry.key !== now);
  const inView = open.filter(([, entry]) => entry.near > 0);
  const names = (inView.length ? inView : open).map(([name]) => name);
  if (!names.length || !shown.value.length) return;
  if (now !== lastKey) flying?.abort();
  lastKey = now;
  const mine = new AbortController();
  flying = mine;
  for (const name of names) begin(name, now);
  const { x, lo, hi, from, points, warm } = window_.value;
  const ask = (/** @type {number | null} */ a, /** @type {number | null} */ b) => packed("series", { runs: shown.value, names, x, lo: a, hi: b, from, points }, mine.signal).then(decodeSeries);
  try {
    const [reply, early] = await Promise.all([ask(lo, hi), warm && lo !== null ? ask(null, lo - 1) : null]);
    if (early) for (const s of reply.series) s.before = early.series.find((e) => e.run === s.run && e.name === s.name);
    for (const name of names) settle(name, now, { series: reply.series.filter((s) => s.name === name), lo: reply.head.lo, hi: reply.head.hi, stale: false, error: "", asked: 0 });
    if (open.length > names.length) schedule();
  } catch (error) {
    if (/** @type {Error} */ (error).name === "AbortError") return;
    const { status, message } = /** @type {import("./api.js").ApiError} */ (error);
    for (const name of names) fail(name, now, status === 0 ? "" : message); // that the server is gone is said once, on top
  }
}

/** @param {string} name @param {string} now */
function begin(name, now) {
  const entry = wanted.get(name);
  if (!entry) return;
  entry.key = now;
  entry.answer.value = { ...entry.answer.peek(), stale: true, asked: performance.now() };
}

/** @param {string} name @param {string} now @param {Answer} answer */
function settle(name, now, answer) {
  const entry = wanted.get(name);
  if (entry && entry.key === now) entry.answer.value = answer;
}

/** @param {string} name @param {string} now @param {string} says */
function fail(name, now, says) {
  const entry = wanted.get(name);
  if (entry && entry.key === now) entry.answer.value = { ...entry.answer.peek(), stale: true, error: says, asked: 0 };
}

effect(() => { window_.value; shown.value; schedule(); });
