/** What Rollouts holds: the columns of the step, the words of its prompts, the samples that were opened. Old ink stays until new ink comes. */

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { unpack } from "../base/chart/points.js";
import { UNKNOWN, chosen, counts, fateOf, grouped, stepOf, usualFate } from "../base/samples/step-samples.js";
import { words } from "../base/samples/filter-words.js";
import { go, step, ticks, view } from "../state.js";
import { columns, get, part, post } from "../wire/api.js";

/** @typedef {import("../base/samples/step-samples.js").Step} Step */
/** @typedef {import("../base/samples/step-samples.js").Fate} Fate */
/** @typedef {import("../base/samples/token-colors.js").Colour} Colour */
/** @typedef {{step: Step, run: string, asked: number}} Held */

export const held = signal(/** @type {Held | null} */ (null));
export const trouble = signal("");
/** task -> [step, mean] of its last visit before this step. */
export const visits = signal(/** @type {Record<string, [number, number]>} */ ({}));
/** sample id -> first words of its prompt. */
export const lines = signal(/** @type {Map<string, string>} */ (new Map()));
/** sample id -> everything about it. */
export const opened = signal(/** @type {Map<string, any>} */ (new Map()));

/* The address has one word list for this page: which list, colour, how many beside each other, differences. */
const FATES = ["trained", "dropped", "all", "eval"];
const COLOURS = ["logprob", "entropy", "advantage", "gap"];
const list = () => view.value.view.split(",").filter(Boolean);
export const fateAsked = computed(() => /** @type {Fate | undefined} */ (list().find((w) => FATES.includes(w))));
export const colour = computed(() => /** @type {Colour} */ (list().find((w) => COLOURS.includes(w)) ?? "plain"));
export const comparing = computed(() => list().includes("diff"));
export const beside = computed(() =>
  Number(
    list()
      .find((w) => /^n[1-4]$/.test(w))
      ?.slice(1) ?? 0,
  ),
);
export const inPrompts = computed(() => list().includes("prompts"));
const KINDS = ["solved", "forgotten", "never"];
/** Which list of prompts was asked for. */
export const kindAsked = computed(() => list().find((w) => KINDS.includes(w)) ?? "");

/** Change one kind of word in the address. @param {(word: string) => boolean} of @param {string} word "" for the usual */
export const setWord = (of, word) => go({ view: worded(of, word) }, "replace");
/** @param {(word: string) => boolean} of @param {string} word */
const worded = (of, word) => [...list().filter((w) => !of(w)), ...(word ? [word] : [])].sort().join(",");
/** @param {Fate} f */
export const setFate = (f) =>
  go({ view: worded((w) => FATES.includes(w), f === usual.value ? "" : f), group: "", sample: "" }, "replace");
/** @param {Colour} c */
export const setColour = (c) => setWord((w) => COLOURS.includes(w), c === "plain" ? "" : c);
/** @param {number} n */
export const setBeside = (n) => setWord((w) => /^n[1-4]$/.test(w), `n${n}`);
export const turnDiff = () => setWord((w) => w === "diff", comparing.value ? "" : "diff");
/** @param {boolean} on */
export const setPrompts = (on) => setWord((w) => w === "prompts" || KINDS.includes(w), on ? "prompts" : "");
/** @param {string} kind */
export const setKind = (kind) => setWord((w) => KINDS.includes(w), kind);

// Strings first: a computed that comes out the same stops there, so that moving a sample does not sort ten thousand again.
const asked = computed(() => view.value.q);
const order = computed(() => view.value.sort);
export const runAsked = computed(() => view.value.run);
export const groupAsked = computed(() => view.value.group);
export const sampleAsked = computed(() => view.value.sample);
export const stepSaid = computed(() => view.value.step !== null);
/** Where the brush begins: what a change may be compared with. */
export const rangeStart = computed(() => view.value.range?.[0] ?? null);
export const queryWords = computed(() => words(asked.value));
export const phrase = computed(() => queryWords.value.find((w) => w.kind === "phrase")?.value ?? "");
export const fateCounts = computed(() =>
  held.value ? counts(held.value.step) : { trained: 0, dropped: 0, all: 0, eval: 0 },
);
const usual = computed(() => (phrase.value ? "all" : usualFate(fateCounts.value))); // a phrase is looked for in all samples, unless somebody says which
export const fate = computed(() => fateAsked.value ?? usual.value);
export const pickedSamples = computed(() => (held.value ? chosen(held.value.step, fate.value, queryWords.value) : []));
export const groups = computed(() =>
  held.value ? grouped(held.value.step, pickedSamples.value, order.value, visits.value) : [],
);
/** There is always a selection: the group of the address, whether it is in the list or not, else the first. */
export const group = computed(
  () => groups.value.find((g) => g.name === groupAsked.value) ?? aside(groupAsked.value) ?? groups.value[0] ?? null,
);

/** A group of the step that the list leaves out: a link or a hit leads to it all the same. @param {string} name */
function aside(name) {
  const s = held.value?.step;
  const at = s && name ? s.groups.indexOf(name) : -1;
  return s && at >= 0
    ? (grouped(
        s,
        Array.from({ length: (s.starts[at + 1] ?? 0) - (s.starts[at] ?? 0) }, (_, k) => (s.starts[at] ?? 0) + k),
        "",
        visits.value,
      )[0] ?? null)
    : null;
}

/** Ids in the address: a comma inside an id is written as %2C. @param {string} text */
export const idsIn = (text) =>
  text
    .split(",")
    .filter(Boolean)
    .map((id) => id.replaceAll("%2C", ",").replaceAll("%25", "%"));
/** @param {string[]} ids */
export const idsAsText = (ids) => ids.map((id) => id.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

/** Width of the pane that samples stand in. */
export const paneWidth = signal(800);
/** On a phone samples lie beside each other to be swiped: which of them is in view. */
export const swiped = signal(0);
export const onPhone = () => innerWidth <= 700;
/** How many samples fit beside each other, or were asked for. */
export const fitting = () =>
  onPhone() ? 16 : Math.max(beside.value || (paneWidth.value < 620 ? 1 : 2), comparing.value ? 2 : 1);

/** Samples on the screen, places in the step: those of the address, filled up with the ones that differ most from them. @param {number} most */
export function shownOf(most) {
  const g = group.value,
    s = held.value?.step;
  if (!g || !s) return [];
  const asked = idsIn(sampleAsked.value)
    .map((id) => g.members.find((i) => s.ids[i] === id))
    .filter((i) => i !== undefined);
  const ends = g.members.flatMap((_, k) => [g.members[g.members.length - 1 - k], g.members[k]]);
  return [...new Set([...asked, ...ends])]
    .slice(0, Math.min(most, g.members.length))
    .map((i) => /** @type {number} */ (i));
}

/** Those that wear a ring in the list of chips: what is in view. */
export const inView = () => (onPhone() ? shownOf(fitting()).slice(swiped.value, swiped.value + 1) : shownOf(fitting()));
/** The sample whose facts are told. */
export const focus = () => inView()[0] ?? -1;

/* Loading. Columns first, then the text on the screen; whatever else is told about the step is asked for when that has come. */
/** The text of the step that was asked for last. */
let text = Promise.resolve();
/** A step, with the samples that came along. @typedef {{step: Step, samples: any[]}} Fetched */
/** @type {Map<string, Promise<Fetched>>} */
const fetched = new Map();
let asking = "";

/** A step; where nobody said which, the newest that was trained on. @param {string} run @param {number} at @param {boolean} again @param {boolean} said @returns {Promise<Fetched>} */
function fetchStep(run, at, again = false, said = true) {
  const key = `${run} ${at} ${said}`;
  const known = again ? undefined : fetched.get(key);
  if (known) return known;
  const asked = columns(`runs/${part(run)}/rollouts?texts=${again ? 0 : opening()}${said ? `&step=${at}` : ""}`).then(
    (buffer) => {
      const { head, columns } = unpack(buffer);
      const { samples, ...rest } = head;
      return { step: stepOf({ head: rest, columns }), samples: samples ?? [] };
    },
  );
  fetched.set(key, asked);
  asked.catch(() => fetched.delete(key));
  while (fetched.size > 6) fetched.delete(fetched.keys().next().value ?? "");
  return asked;
}

/** How many samples the list will open with, where it opens as the server thinks: in the usual order, with nothing chosen. */
function opening() {
  const { q, sort, group, sample } = view.peek();
  return q || sort || group || sample || fateAsked.peek() ? 0 : Math.min(16, untracked(fitting));
}

/** Samples that have come, the oldest forgotten. @param {any[]} samples @param {Map<string, any>} known */
function withSamples(samples, known) {
  if (!samples.length) return known;
  const next = new Map([...known].slice(-40));
  for (const s of samples) next.set(s.id, s);
  return next;
}

/** Opened samples without those whose fate has been decided since. @param {Step} s */
function settled(s) {
  const next = new Map(opened.value);
  s.ids.forEach((id, i) => {
    if (next.get(id)?.trained === null && fateOf(s, i) !== UNKNOWN) next.delete(id);
  });
  return next.size === opened.value.size ? opened.value : next;
}

/** @param {string} run @param {number} at @param {boolean} again @param {boolean} said */
async function load(run, at, again, said) {
  const key = (asking = `${run} ${at} ${said} ${again ? performance.now() : ""}`);
  try {
    const { step: found, samples } = await fetchStep(run, at, again, said);
    if (key !== asking) return;
    batch(() => {
      if (held.value?.step.step !== found.step || held.value.run !== run) visits.value = {};
      opened.value = withSamples(samples, held.value?.run !== run ? new Map() : again ? settled(found) : opened.value);
      held.value = { step: found, run, asked: at };
      trouble.value = "";
    });
    if (found.step === null) return;
    text = openSamples(shownOf(fitting()).map((i) => found.ids[i] ?? "")); // asked for before the list is drawn: the text is on its way meanwhile
    await text;
    if (key !== asking) return;
    get(`runs/${part(run)}/visits?step=${found.step}`).then(
      (v) => {
        if (key === asking) visits.value = v.tasks;
      },
      () => {},
    );
    // The neighbours are what a person asks for next.
    setTimeout(() => {
      if (key === asking) for (const next of [found.after, found.before]) if (next !== null) ahead(run, next);
    }, 250);
  } catch (error) {
    if (key === asking) trouble.value = /** @type {Error} */ (error).message;
  }
}

/** A step that will probably be asked for, and the text that will then be on the screen. @param {string} run @param {number} at */
async function ahead(run, at) {
  try {
    const { step: s, samples } = await fetchStep(run, at);
    if (held.peek()?.run === run) opened.value = withSamples(samples, opened.peek());
    const list = grouped(
      s,
      chosen(s, fateAsked.peek() ?? usualFate(counts(s)), queryWords.peek()),
      view.peek().sort,
      {},
    );
    const members = list[0]?.members ?? [];
    if (held.peek()?.run === run)
      openSamples(
        [members[members.length - 1], members[0]]
          .map((i) => s.ids[i ?? -1] ?? "")
          .filter(Boolean)
          .slice(0, beside.peek() || 2),
      );
  } catch {
    /* it was only likely to be asked for */
  }
}

let last = 0;
let waiting = 0;
const here = computed(() => (view.value.page === "rollouts" ? view.value.run : ""));
/** Follow the caret: at once when it jumps, after 120 ms while it is being dragged. Gives the function that stops. */
export function follow() {
  let seen = ticks.peek();
  return effect(() => {
    const [run, at, tick, said] = [here.value, step.value, ticks.value, stepSaid.value];
    if (!run) return;
    const again = tick !== seen;
    seen = tick;
    clearTimeout(waiting);
    const now = performance.now();
    if (now - last > 120) load(run, at, again, said);
    else waiting = setTimeout(() => load(run, at, again, said), 120);
    last = now;
  });
}

/** @type {Set<string>} */
const coming = new Set();
/** Samples whole, as far as they are not yet here. @param {string[]} ids */
export async function openSamples(ids) {
  const run = held.peek()?.run;
  const missing = ids.filter((id) => !opened.peek().has(id) && !coming.has(id));
  if (!run || !missing.length) return;
  for (const id of missing) coming.add(id);
  try {
    const { samples } = await post(`runs/${part(run)}/rollouts/samples`, { ids: missing });
    if (held.peek()?.run !== run) return;
    opened.value = withSamples(samples, opened.peek());
  } catch (error) {
    trouble.value = /** @type {Error} */ (error).message;
  } finally {
    for (const id of missing) coming.delete(id);
  }
}

/** @type {Set<string>} */
const pending = new Set();
/** First words of prompts, for rows that came on the screen. @param {string[]} ids */
export async function previewPrompts(ids) {
  const run = held.value?.run ?? view.value.run;
  const missing = ids.filter((id) => !lines.value.has(id) && !pending.has(id)).slice(0, 200);
  if (!missing.length) return;
  for (const id of missing) pending.add(id);
  try {
    await text;
    const found = (await post(`runs/${part(run)}/rollouts/previews`, { ids: missing })).lines;
    const next = new Map([...lines.value].slice(-4000));
    for (const id of missing) next.set(id, found[id] ?? "");
    lines.value = next;
  } catch {
    /* a row without its first words is still a row */
  } finally {
    for (const id of missing) pending.delete(id);
  }
}

effect(() => {
  view.value.run;
  lines.value = new Map();
});
