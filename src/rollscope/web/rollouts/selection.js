/** What Rollouts shows: the step, its lists and groups, and which group and samples are selected.
 */

import { computed, signal } from "@preact/signals";
import { filter, words } from "../base/samples/filter-words.js";
import { MARK_WORDS } from "../base/samples/marks.js";
import { chosen, counts, grouped, textOf, usualFate } from "../base/samples/step-samples.js";
import { sideOf } from "../base/samples/tags.js";
import { STEPLESS } from "../base/text/url.js";
import { view } from "../state.js";
import { marked } from "./kept/marks.js";
import { beside, chosenFate, comparing, idsIn, setFate } from "./view-words.js";

/** @typedef {import("../base/samples/step-samples.js").Step} Step */
/** @typedef {import("../base/samples/step-samples.js").Fate} Fate */
/** The step on the screen. `at` is the step at the caret, which may have no samples.
 * @typedef {{step: Step, run: string, at: number}} Loaded */

export const loaded = signal(/** @type {Loaded | null} */ (null));
/** Step and mean of each task's last visit before this step. */
export const visits = signal(/** @type {Record<string, [number, number]>} */ ({}));
/** Samples with their texts, by id. */
export const opened = signal(/** @type {Map<string, any>} */ (new Map()));

// Each of these is a text or a number. A computed with the same value stops there, so moving to
// another sample does not sort ten thousand samples again.
const query = computed(() => view.value.q);
const order = computed(() => view.value.sort);
export const runInView = computed(() => view.value.run);
export const groupInView = computed(() => view.value.group);
export const sampleInView = computed(() => view.value.sample);
/** True if the address has a step. */
export const stepInView = computed(() => view.value.step !== null);
/** True if the address asks for the samples that name no step. */
export const steplessInView = computed(() => view.value.show === STEPLESS && !stepInView.value);
/** The first step of the brush, to compare with. */
export const rangeStart = computed(() => view.value.range?.[0] ?? null);
/** The words of the search, and the environment of the address. */
export const queryWords = computed(() => [...words(query.value), ...envWord()]);
/** @returns {import("../base/samples/filter-words.js").Word[]} */
const envWord = () => (view.value.env ? [filter("env", ":", view.value.env)] : []);
export const phrase = computed(() => queryWords.value.find((w) => w.kind === "phrase")?.value ?? "");
export const fateCounts = computed(() =>
  loaded.value ? counts(loaded.value.step) : { trained: 0, dropped: 0, all: 0, eval: 0 },
);
/** A phrase is searched in all samples by default. */
const defaultFate = computed(() => (phrase.value ? "all" : usualFate(fateCounts.value)));
export const fate = computed(() => chosenFate.value ?? defaultFate.value);
/** Choose a list of samples. @param {Fate} f */
export const chooseFate = (f) => setFate(f === defaultFate.value ? "" : f);
/** True if a filter asks what people said about samples. */
const asksMarks = computed(() => queryWords.value.some((w) => w.kind === "filter" && MARK_WORDS.includes(w.field)));
export const pickedSamples = computed(() => {
  const s = loaded.value?.step;
  if (!s) return [];
  return chosen(asksMarks.value ? { ...s, marks: marked.value } : s, fate.value, queryWords.value);
});
export const groups = computed(() =>
  loaded.value ? grouped(loaded.value.step, pickedSamples.value, order.value, visits.value) : [],
);
/** The selected group: that of the address, in the list or not, else the first. */
export const group = computed(
  () =>
    groups.value.find((g) => g.name === groupInView.value) ?? unlisted(groupInView.value) ?? groups.value[0] ?? null,
);

/** A group of the step that the list leaves out, because a link or a search hit may lead to it.
 * @param {string} name */
function unlisted(name) {
  const s = loaded.value?.step;
  const at = s && name ? s.groups.indexOf(name) : -1;
  if (!s || at < 0) return null;
  const start = s.starts[at] ?? 0;
  const members = Array.from({ length: (s.starts[at + 1] ?? 0) - start }, (_, k) => start + k);
  return grouped(s, members, "", visits.value)[0] ?? null;
}

/** Width of the pane with the samples. */
export const paneWidth = signal(800);
/** On a phone, samples lie side by side to swipe; this is the one in view. */
export const swiped = signal(0);
export const onPhone = () => innerWidth <= 700;
/** How many samples fit side by side, or were asked for. */
export const fitting = () =>
  onPhone() ? 16 : Math.max(beside.value || (paneWidth.value < 620 ? 1 : 2), comparing.value ? 2 : 1);

/** Samples on the screen, as indices of the step: those of the address, then the ones that differ
 * most in reward.
 * @param {number} most */
export function shownSamples(most) {
  const [g, s] = [group.value, loaded.value?.step];
  if (!g || !s) return [];
  const linked = idsIn(sampleInView.value).map((id) => g.members.find((i) => s.ids[i] === id));
  const ends = pairs(s, g.members) ?? g.members.flatMap((_, k) => [g.members[g.members.length - 1 - k], g.members[k]]);
  return [...new Set([...linked, ...ends])].filter((i) => i !== undefined).slice(0, Math.min(most, g.members.length));
}

/** The answers of a preference pair, each chosen one before a rejected one; null for no pair.
 * @param {Step} s @param {number[]} members */
function pairs(s, members) {
  const of = (/** @type {string} */ side) => members.filter((i) => sideOf(textOf(s, "tags", i)) === side);
  const [chosenOnes, rejected] = [of("chosen"), of("rejected")];
  return chosenOnes.length && rejected.length
    ? members.flatMap((_, k) => [chosenOnes[k], rejected[k]]).filter((i) => i !== undefined)
    : null;
}

/** Samples in view, which have a ring in the list of chips. */
export const inView = () =>
  onPhone() ? shownSamples(fitting()).slice(swiped.value, swiped.value + 1) : shownSamples(fitting());
/** The sample whose facts are shown, or -1. */
export const focus = () => inView()[0] ?? -1;
