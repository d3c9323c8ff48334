/** The words that Rollouts keeps in the address under `view`: which list, token colour, how many
 * samples side by side, differences, the tab of the left pane; and sample ids as text. */

import { computed } from "@preact/signals";
import { go, view } from "../state.js";

/** @typedef {import("../base/samples/step-samples.js").Fate} Fate */
/** @typedef {import("../base/samples/token-colors.js").Colour} Colour */
/** @typedef {"text" | "markdown" | "drawn"} Shown */
/** @typedef {"groups" | "prompts" | "marked"} Tab */

const FATES = ["trained", "dropped", "all", "eval"];
const COLOURS = ["logprob", "entropy", "advantage", "gap"];
const KINDS = ["solved", "forgotten", "never"];

const words = () => view.value.view.split(",").filter(Boolean);
const chosenOf = (/** @type {string[]} */ options) => words().find((w) => options.includes(w));

export const chosenFate = computed(() => /** @type {Fate | undefined} */ (chosenOf(FATES)));
export const colour = computed(() => /** @type {Colour} */ (chosenOf(COLOURS) ?? "plain"));
export const comparing = computed(() => words().includes("diff"));
/** How texts are shown: as they are, as Markdown, or drawn by the environment's viewer. */
export const shownAs = computed(() => /** @type {Shown} */ (chosenOf(["markdown", "text"]) ?? "drawn"));
/** How many samples stand side by side; 0 if the address does not say. */
export const beside = computed(() => Number(chosenOf(["n1", "n2", "n3", "n4"])?.slice(1) ?? 0));
/** The tab of the left pane: groups (or hits), prompts, or marked samples. */
export const tab = computed(() => /** @type {Tab} */ (chosenOf(["prompts", "marked"]) ?? "groups"));
/** The chosen list of prompts, or "". */
export const chosenKind = computed(() => chosenOf(KINDS) ?? "");

/** The words of the address with one kind of word replaced.
 * @param {(word: string) => boolean} of @param {string} word "" for the default */
const replaced = (of, word) => [...words().filter((w) => !of(w)), ...(word ? [word] : [])].sort().join(",");
/** @param {(word: string) => boolean} of @param {string} word */
const setWord = (of, word) => go({ view: replaced(of, word) }, "replace");

/** Show another list of samples; "" for the default list. @param {Fate | ""} fate */
export const setFate = (fate) =>
  go({ view: replaced((w) => FATES.includes(w), fate), group: "", sample: "" }, "replace");
/** @param {Colour} c */
export const setColour = (c) => setWord((w) => COLOURS.includes(w), c === "plain" ? "" : c);
/** @param {Shown} how */
export const setShown = (how) => setWord((w) => w === "markdown" || w === "text", how === "drawn" ? "" : how);
/** @param {number} n */
export const setBeside = (n) => setWord((w) => /^n[1-4]$/.test(w), `n${n}`);
export const toggleDiff = () => setWord((w) => w === "diff", comparing.value ? "" : "diff");
/** @param {Tab} name */
export const setTab = (name) =>
  setWord((w) => w === "prompts" || w === "marked" || KINDS.includes(w), name === "groups" ? "" : name);
/** @param {string} kind */
export const setKind = (kind) => setWord((w) => KINDS.includes(w), kind);
/** The words of the address that show all samples of a step. */
export const wordsForAll = () => replaced((w) => FATES.includes(w), "all");

/** Sample ids of the address; a comma inside an id is written as %2C. @param {string} text */
export const idsIn = (text) =>
  text
    .split(",")
    .filter(Boolean)
    .map((id) => id.replaceAll("%2C", ",").replaceAll("%25", "%"));
/** Sample ids as the address has them. @param {string[]} ids */
export const idsAsText = (ids) => ids.map((id) => id.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");
