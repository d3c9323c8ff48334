/** The samples of a step, from packed columns: filter them, group them, sort the groups. */

import { passes, says } from "./filter-words.js";
import { MARK_WORDS, markTexts } from "./marks.js";

export const UNKNOWN = 0,
  TRAINED = 1,
  DROPPED = 2,
  EVAL = 3;
/** @typedef {"trained" | "dropped" | "all" | "eval"} Fate */
/** @typedef {{step: number | null, asked: number | null, before: number | null, after: number |
 *   null, last: number | null, stepless: number, ids: string[], groups: string[], tasks: string[],
 *   starts: number[], words: Record<string, string[]>, ranges: Record<string, [number, number]>,
 *   parts: string[],
 *   columns: Record<string, ArrayLike<number>>, marks?: Map<string, import("./marks.js").Marks>}}
 *   Step */
/** A group as the list shows it, members best to worst.
 * @typedef {{at: number, name: string, task: string, members: number[], mean: number,
 *   key: number}} Group */
/** @typedef {import("./filter-words.js").Word} Word */

const FIELDS = /** @type {Record<string, string>} */ ({
  reward: "reward",
  score: "score",
  advantage: "advantage",
  tokens: "completion_tokens",
  length: "completion_tokens",
  turns: "turns",
  calls: "tool_calls",
  failures: "tool_failures",
});
const WORDS = /** @type {Record<string, string>} */ ({
  env: "env",
  environment: "env",
  stop: "stop_reason",
  reason: "discard_reason",
  tag: "tags",
  split: "split",
});

/** Build a step from the server's reply. Samples of a group lie side by side; `starts` holds where
 * each begins.
 * @param {{head: any, columns: Record<string, any>}} answer @returns {Step} */
export function stepOf({ head, columns }) {
  /** @type {number[]} */
  const starts = [];
  const group = columns.group ?? [];
  for (let i = 0; i < group.length; i++) if (i === 0 || group[i] !== group[i - 1]) starts.push(i);
  starts.push(group.length);
  return { words: {}, ranges: { reward: [0, 1] }, parts: [], tasks: [], ...head, starts, columns };
}

/** A number of a sample, or NaN. @param {Step} s @param {string} name @param {number} i */
export const num = (s, name, i) => s.columns[name]?.[i] ?? NaN;
/** A text of a sample, such as its stop reason, or "".
 * @param {Step} s @param {string} name @param {number} i */
export const textOf = (s, name, i) => s.words[name]?.[s.columns[`${name} code`]?.[i] ?? -1] ?? "";
/** @param {Step} s @param {number} i */
export const fateOf = (s, i) => s.columns.fate?.[i] ?? UNKNOWN;
/** The reward range that sets a sample's colour: its environment's, else the run's.
 * @param {Step} s @param {number} i @returns {[number, number]} */
export const rangeOf = (s, i) => s.ranges[`reward ${textOf(s, "env", i)}`] ?? s.ranges.reward ?? [0, 1];

/** @param {Step} s @param {number} i @param {Fate} fate */
const hasFate = (s, i, fate) => {
  const f = fateOf(s, i);
  return fate === "eval"
    ? f === EVAL
    : f !== EVAL && (fate === "all" || f === (fate === "trained" ? TRAINED : DROPPED));
};

/** How many groups have a sample of each fate. @param {Step} s @returns {Record<Fate, number>} */
export function counts(s) {
  const out = { trained: 0, dropped: 0, all: 0, eval: 0 };
  for (let g = 0; g + 1 < s.starts.length; g++) {
    for (const fate of /** @type {Fate[]} */ (["trained", "dropped", "all", "eval"])) {
      for (let i = s.starts[g] ?? 0; i < (s.starts[g + 1] ?? 0); i++)
        if (hasFate(s, i, fate)) {
          out[fate]++;
          break;
        }
    }
  }
  return out;
}

/** The list to show first. @param {Record<Fate, number>} n @returns {Fate} */
export const usualFate = (n) => (n.trained ? "trained" : n.all ? "all" : n.eval ? "eval" : "all");

/** The column behind a typed name such as `tokens`, `format` or `rewards/format`, or "".
 * @param {Step} s @param {string} field */
function columnOf(s, field) {
  const name =
    FIELDS[field] ?? (s.parts.includes(field) ? field : s.parts.find((p) => p.slice(p.indexOf("/") + 1) === field));
  return name ?? "";
}

/** True if a sample passes every filter. Phrases are left to the server.
 * @param {Step} s @param {Word[]} list @param {number} i */
export function fits(s, list, i) {
  return list.every((w) => {
    if (w.kind !== "filter") return true;
    if (w.field === "gini") return passes(num(s, "gini", s.columns.group?.[i] ?? -1), w.op, w.value);
    if (MARK_WORDS.includes(w.field))
      return markTexts(s.marks?.get(s.ids[i] ?? ""), w.field).some((text) => says(text, w.op, w.value));
    if (w.field in WORDS) return says(textOf(s, WORDS[w.field] ?? "", i), w.op, w.value);
    if (w.field === "id") return says(s.ids[i] ?? "", w.op, w.value);
    const group = s.columns.group?.[i] ?? -1;
    if (w.field === "group") return says(s.groups[group] ?? "", w.op, w.value);
    if (w.field === "task") return says(s.tasks[group] ?? "", w.op, w.value);
    return passes(num(s, columnOf(s, w.field), i), w.op, w.value);
  });
}

/** True if this step has the quantity that a filter names. @param {Step} s @param {Word} w */
export const known = (s, w) =>
  w.kind === "phrase" ||
  w.field in WORDS ||
  MARK_WORDS.includes(w.field) ||
  ["gini", "id", "group", "task"].includes(w.field) ||
  columnOf(s, w.field) !== "" ||
  w.field in FIELDS;

/** Samples of a fate that pass every filter.
 * @param {Step} s @param {Fate} fate @param {Word[]} list */
export function chosen(s, fate, list) {
  /** @type {number[]} */
  const out = [];
  for (let i = 0; i < s.ids.length; i++) if (hasFate(s, i, fate) && fits(s, list, i)) out.push(i);
  return out;
}

/** The orders of the list: key in the address, words on the screen, 1 for ascending or -1.
 * @param {Step} s @returns {[string, string, number][]} */
export function orders(s) {
  /** @type {[string, string, number][]} */
  const usual = [
    ["", "worst first", 1],
    ["best", "best first", -1],
    ["length", "longest first", -1],
    ["advantage", "largest advantage", -1],
    ["gini", "most unequal", -1],
    ["change", "fell most", 1],
    ["rose", "rose most", -1],
  ];
  return [
    ...usual,
    ...s.parts.flatMap(
      (p) =>
        /** @type {[string, string, number][]} */ ([
          [p, `${p.slice(p.indexOf("/") + 1)}, low first`, 1],
          [`-${p}`, `${p.slice(p.indexOf("/") + 1)}, high first`, -1],
        ]),
    ),
  ];
}

/** The mean over samples that have the number, or NaN.
 * @param {Step} s @param {string} name @param {number[]} members */
export function mean(s, name, members) {
  let [sum, n] = [0, 0];
  for (const i of members) {
    const v = num(s, name, i);
    if (!Number.isNaN(v)) {
      sum += v;
      n++;
    }
  }
  return n ? sum / n : NaN;
}

/** Group the picked samples and sort the groups. A group without a sort key comes last. `visits`
 * holds step and mean of each task's last visit, for the order by change.
 * @param {Step} s @param {number[]} picked @param {string} sort
 * @param {Record<string, [number, number]>} visits @returns {Group[]} */
export function grouped(s, picked, sort, visits) {
  /** @type {Map<number, number[]>} */
  const members = new Map();
  for (const i of picked) {
    const g = s.columns.group?.[i] ?? 0;
    const list = members.get(g);
    if (list) list.push(i);
    else members.set(g, [i]);
  }
  const sign = sort.startsWith("-") ? -1 : (orders(s).find(([key]) => key === sort)?.[2] ?? 1);
  const out = [...members].map(([at, list]) => {
    const name = s.groups[at] ?? "",
      task = s.tasks[at] ?? "";
    list.sort((a, b) => down(num(s, "reward", a), num(s, "reward", b)));
    return { at, name, task, members: list, mean: mean(s, "reward", list), key: NaN };
  });
  for (const g of out) g.key = keyOf(s, g, sort.replace(/^-/, ""), visits);
  return out.sort((a, b) =>
    Number.isNaN(a.key)
      ? Number.isNaN(b.key)
        ? a.at - b.at
        : 1
      : Number.isNaN(b.key)
        ? -1
        : sign * (a.key - b.key) || a.at - b.at,
  );
}

/** Compare for descending order, NaN last. @param {number} a @param {number} b */
const down = (a, b) => (Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : b - a);

/** @param {Step} s @param {Group} g @param {string} sort
 * @param {Record<string, [number, number]>} visits */
function keyOf(s, g, sort, visits) {
  if (sort === "" || sort === "best") return g.mean;
  if (sort === "length") return mean(s, "completion_tokens", g.members);
  if (sort === "advantage")
    return g.members.reduce((most, i) => {
      const v = Math.abs(num(s, "advantage", i));
      return Number.isNaN(v) ? most : Number.isNaN(most) ? v : Math.max(most, v);
    }, NaN);
  if (sort === "gini") return num(s, "gini", g.at);
  if (sort === "change" || sort === "rose") return changeOf(g, visits);
  return mean(s, sort, g.members);
}

/** Change of the mean since the prompt's last visit, or NaN on the first.
 * @param {Group} g @param {Record<string, [number, number]>} visits */
export function changeOf(g, visits) {
  const before = Object.hasOwn(visits, g.task) ? visits[g.task] : undefined;
  return before ? g.mean - before[1] : NaN;
}

/** Reasons why samples were dropped, with counts, most frequent first.
 * @param {Step} s @param {number[]} picked @returns {[string, number][]} */
export function reasons(s, picked) {
  /** @type {Map<string, number>} */
  const out = new Map();
  for (const i of picked)
    if (fateOf(s, i) === DROPPED) {
      const r = textOf(s, "discard_reason", i) || "no reason given";
      out.set(r, (out.get(r) ?? 0) + 1);
    }
  return [...out].sort((a, b) => b[1] - a[1]);
}
