/** Stored values at a step, for read-outs of charts whose buckets hold several steps. What all
 * cards ask for in the same moment goes out in one request. */

import { signal } from "@preact/signals";
import { post } from "./api.js";
import { shown } from "./series.js";

const SETTLE = 60; // ms that the caret must rest before a request leaves
const MOST = 20000; // values that are kept

/** Counts up when values arrived. */
export const arrived = signal(0);
/** Run, name and step -> the value; null: nothing was logged there.
 * @type {Map<string, number | null>} */
const known = new Map();
/** @type {Set<string>} */
let wanted = new Set();
let [at, timer] = [NaN, 0];
/** @type {AbortController | null} */
let flying = null;

/** @param {string} run @param {string} name @param {number} step */
const key = (run, name, step) => `${step}\n${run}\n${name}`;

/** The stored value, null if nothing was logged at the step, undefined while it is not known. Asks
 * for it then.
 * @param {string} run @param {string} name @param {number} step
 * @returns {number | null | undefined} */
export function exact(run, name, step) {
  const value = known.get(key(run, name, step));
  if (value !== undefined) return value;
  if (step !== at) [at, wanted] = [step, new Set()];
  if (!wanted.has(name)) {
    wanted.add(name);
    clearTimeout(timer);
    timer = setTimeout(request, SETTLE);
  }
  return undefined;
}

/** Forget everything: rows were recorded that may add to a step. */
export function forgetExact() {
  known.clear();
  wanted = new Set();
}

async function request() {
  const [step, names, runs] = [at, [...wanted], shown.value];
  if (!names.length || !runs.length) return;
  flying?.abort();
  flying = new AbortController();
  try {
    const reply = await post("values", { runs, names, step }, flying.signal);
    if (known.size > MOST) known.clear();
    for (const run of runs)
      for (const name of names) {
        const value = reply.runs[run]?.[name];
        known.set(key(run, name, step), value === undefined || value === null ? null : Number(value));
      }
    arrived.value++;
  } catch {
    wanted = new Set(); // asked for again when the caret moves
  }
}
