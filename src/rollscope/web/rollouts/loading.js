/** Loading for Rollouts: the columns of the step, the texts of its samples, first words of prompts.
 * The columns come first, then the texts on the screen, then everything else. The old step stays
 * until the new one is here. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { unpack } from "../base/chart/points.js";
import { UNKNOWN, chosen, counts, fateOf, grouped, stepOf, usualFate } from "../base/samples/step-samples.js";
import { step, ticks, view } from "../state.js";
import { columns, get, part, post } from "../wire/api.js";
import { fitting, loaded, opened, queryWords, shownSamples, stepInView, steplessInView, visits } from "./selection.js";
import { beside, chosenFate } from "./view-words.js";

/** @typedef {import("../base/samples/step-samples.js").Step} Step */

/** The message of the last failure. */
export const trouble = signal("");
/** First words of prompts, by sample id. */
export const firstWords = signal(/** @type {Map<string, string>} */ (new Map()));
/** Resolves when the texts of the last step are here. */
let texts = Promise.resolve();
/** A step, with the samples that came with it. @typedef {{step: Step, samples: any[]}} Fetched */
/** @type {Map<string, Promise<Fetched>>} */
const fetched = new Map();
let loading = "";

/** What to fetch: a step, the newest one that was trained on, or the samples that name no step.
 * @typedef {"step" | "newest" | "stepless"} Which */

/** Fetch a step.
 * @param {string} run @param {number} at @param {boolean} again @param {Which} which
 * @returns {Promise<Fetched>} */
function fetchStep(run, at, again = false, which = "step") {
  const key = `${run} ${at} ${which}`;
  const known = again ? undefined : fetched.get(key);
  if (known) return known;
  const place = { step: `&step=${at}`, newest: "", stepless: "&stepless=true" }[which];
  const question = `texts=${again ? 0 : textsToSend()}${place}`;
  const reply = columns(`runs/${part(run)}/rollouts?${question}`).then((buffer) => {
    const { head, columns } = unpack(buffer);
    const { samples, ...rest } = head;
    return { step: stepOf({ head: rest, columns }), samples: samples ?? [] };
  });
  fetched.set(key, reply);
  reply.catch(() => fetched.delete(key));
  while (fetched.size > 6) fetched.delete(fetched.keys().next().value ?? "");
  return reply;
}

/** How many texts the server sends with the step. It can guess them only in the default order with
 * no selection. */
function textsToSend() {
  const { q, sort, group, sample } = view.peek();
  return q || sort || group || sample || chosenFate.peek() ? 0 : Math.min(16, untracked(fitting));
}

/** The known samples with new ones added and the oldest removed.
 * @param {any[]} samples @param {Map<string, any>} known */
function withSamples(samples, known) {
  if (!samples.length) return known;
  const next = new Map([...known].slice(-40));
  for (const s of samples) next.set(s.id, s);
  return next;
}

/** The opened samples without those whose fate has been decided since. @param {Step} s */
function settled(s) {
  const next = new Map(opened.value);
  s.ids.forEach((id, i) => {
    if (next.get(id)?.trained === null && fateOf(s, i) !== UNKNOWN) next.delete(id);
  });
  return next.size === opened.value.size ? opened.value : next;
}

/** Load a step and show it, unless another is asked for meanwhile.
 * @param {string} run @param {number} at @param {boolean} again @param {Which} which */
async function load(run, at, again, which) {
  const key = (loading = `${run} ${at} ${which} ${again ? performance.now() : ""}`);
  try {
    const { step: next, samples } = await fetchStep(run, at, again, which);
    if (key !== loading) return;
    batch(() => {
      if (loaded.value?.step.step !== next.step || loaded.value.run !== run) visits.value = {};
      opened.value = withSamples(samples, loaded.value?.run !== run ? new Map() : again ? settled(next) : opened.value);
      loaded.value = { step: next, run, at };
      trouble.value = "";
    });
    if (!next.ids.length) return;
    // Before the list is drawn, so the texts are on their way meanwhile.
    texts = openSamples(shownSamples(fitting()).map((i) => next.ids[i] ?? ""));
    await texts;
    if (key !== loading) return;
    if (next.step === null) return;
    get(`runs/${part(run)}/visits?step=${next.step}`).then(
      (v) => {
        if (key === loading) visits.value = v.tasks;
      },
      () => {},
    );
    // A person will probably go to a neighbour next.
    setTimeout(() => {
      if (key === loading) for (const near of [next.after, next.before]) if (near !== null) fetchAhead(run, near);
    }, 250);
  } catch (error) {
    if (key === loading) trouble.value = /** @type {Error} */ (error).message;
  }
}

/** Fetch a step that a person will probably open, and the texts it will show.
 * @param {string} run @param {number} at */
async function fetchAhead(run, at) {
  try {
    const { step: s, samples } = await fetchStep(run, at);
    if (loaded.peek()?.run === run) opened.value = withSamples(samples, opened.peek());
    const picked = chosen(s, chosenFate.peek() ?? usualFate(counts(s)), queryWords.peek());
    const members = grouped(s, picked, view.peek().sort, {})[0]?.members ?? [];
    if (loaded.peek()?.run === run)
      openSamples(
        [members[members.length - 1], members[0]]
          .map((i) => s.ids[i ?? -1] ?? "")
          .filter(Boolean)
          .slice(0, beside.peek() || 2),
      );
  } catch {
    // It was only a guess.
  }
}

let last = 0;
let waiting = 0;
const runOnPage = computed(() => (view.value.page === "rollouts" ? view.value.run : ""));
/** Follow the caret: at once if it jumps, 120 ms later while it is dragged. Returns the function
 * that stops. */
export function follow() {
  let seen = ticks.peek();
  return effect(() => {
    const [run, at, tick] = [runOnPage.value, step.value, ticks.value];
    /** @type {Which} */
    const which = steplessInView.value ? "stepless" : stepInView.value ? "step" : "newest";
    if (!run) return;
    const again = tick !== seen;
    seen = tick;
    clearTimeout(waiting);
    const now = performance.now();
    if (now - last > 120) load(run, at, again, which);
    else waiting = setTimeout(() => load(run, at, again, which), 120);
    last = now;
  });
}

/** @type {Set<string>} */
const opening = new Set();
/** Fetch the samples that are not here yet, with their texts. @param {string[]} ids */
export async function openSamples(ids) {
  const run = loaded.peek()?.run;
  const missing = ids.filter((id) => !opened.peek().has(id) && !opening.has(id));
  if (!run || !missing.length) return;
  for (const id of missing) opening.add(id);
  try {
    const { samples } = await post(`runs/${part(run)}/rollouts/samples`, { ids: missing });
    if (loaded.peek()?.run !== run) return;
    opened.value = withSamples(samples, opened.peek());
  } catch (error) {
    trouble.value = /** @type {Error} */ (error).message;
  } finally {
    for (const id of missing) opening.delete(id);
  }
}

/** @type {Set<string>} */
const pending = new Set();
/** Fetch the first words of prompts, for rows that came into view. @param {string[]} ids */
export async function previewPrompts(ids) {
  const run = loaded.value?.run ?? view.value.run;
  const missing = ids.filter((id) => !firstWords.value.has(id) && !pending.has(id)).slice(0, 200);
  if (!missing.length) return;
  for (const id of missing) pending.add(id);
  try {
    await texts;
    const replies = (await post(`runs/${part(run)}/rollouts/previews`, { ids: missing })).lines;
    const next = new Map([...firstWords.value].slice(-4000));
    for (const id of missing) next.set(id, replies[id] ?? "");
    firstWords.value = next;
  } catch {
    // The row shows its task instead.
  } finally {
    for (const id of missing) pending.delete(id);
  }
}

effect(() => {
  view.value.run;
  firstWords.value = new Map();
});
