/** Metric names: split into section, group and leaf, written as titles, sorted into a tree, and
 * searched. */

const STATS = ["mean", "std", "min", "max", "p05", "p50", "p95", "gini"];

/** Split a name at its slashes: section and leaf, or section, group and leaf. Without a slash the
 * section is `general`.
 * @param {string} name */
export function split(name) {
  const parts = name.split("/");
  if (parts.length === 1) return { section: "general", group: "", leaf: name };
  if (parts.length === 2)
    return { section: /** @type {string} */ (parts[0]), group: "", leaf: /** @type {string} */ (parts[1]) };
  return {
    section: /** @type {string} */ (parts[0]),
    group: /** @type {string} */ (parts[1]),
    leaf: parts.slice(2).join("/"),
  };
}

/** `kl_ref_k3` as "kl ref k3", for titles; slashes become spaces. @param {string} text */
const spaced = (text) => text.replaceAll("_", " ").replaceAll("/", " ");

/** A section or group as a heading, with a capital first letter. @param {string} text */
export const heading = (text) => {
  const words = spaced(text);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Sections whose path says less than their title. @type {Record<string, string>} */
const TITLES = {
  "val-core": "Validation",
  "val-aux": "Validation, more",
  eval: "Evaluation",
  actor: "Policy, as logged",
  perf: "Performance",
  timing_s: "Time in seconds",
  time_per_token: "Time per token",
  timing_per_token_ms: "Time per token in ms",
  task_reward: "Reward by task",
  reward_component: "Reward components",
  sample_metric: "Sample metrics",
  stop: "How samples stop",
  turns: "Turns",
  tool: "Tools",
  group: "Groups of a prompt",
  env: "Environment",
  kl: "KL",
  optimiser: "Optimiser",
  counter: "Counters",
  sampling: "Sampling of prompts",
  pipeline: "Data pipeline",
  balance: "Load balance",
};

/** @param {string} section */
export const sectionTitle = (section) => TITLES[section] ?? heading(section);

/** The title of a card, and the greyed words before it. @param {string} name */
export function title(name) {
  const { section, group, leaf } = split(name);
  return { before: group ? spaced(group) : STATS.includes(leaf) ? spaced(section) : "", leaf: spaced(leaf) };
}

/** The same where cards of several sections stand together: everything before the last slash is
 * greyed.
 * @param {string} name */
export function fullTitle(name) {
  const at = name.lastIndexOf("/");
  return { before: at < 0 ? "" : spaced(name.slice(0, at)), leaf: spaced(name.slice(at + 1)) };
}

/** The statistic at the end of a name, and the name without it. @param {string} name */
export function stat(name) {
  const at = name.lastIndexOf("/");
  const last = name.slice(at + 1);
  return STATS.includes(last) ? { of: name.slice(0, at), stat: last } : { of: name, stat: "" };
}

/** Sections in reading order: training first, then unknown sections by name, the machine last. */
const FIRST = [
  "reward",
  "score",
  "eval",
  "val-core",
  "val-aux",
  "policy",
  "actor",
  "critic",
  "advantage",
  "group",
  "length",
  "stop",
  "discarded",
  "task_reward",
  "reward_component",
  "sample_metric",
  "turns",
  "tool",
  "staleness",
  "optimiser",
];
const LAST = [
  "time",
  "time_per_token",
  "timing_s",
  "perf",
  "balance",
  "pipeline",
  "sampling",
  "counter",
  "engine",
  "host",
];

/** The place of a section in reading order. @param {string} section */
export function sectionRank(section) {
  const first = FIRST.indexOf(section);
  if (first >= 0) return first;
  const last = LAST.indexOf(section);
  return last >= 0 ? 1000 + last : 500;
}

/** Metrics by section and group, in reading order.
 * @template {{name: string}} T @param {T[]} metrics
 * @returns {{section: string, groups: {group: string, metrics: T[]}[], count: number}[]} */
export function tree(metrics) {
  /** @type {Map<string, Map<string, T[]>>} */
  const sections = new Map();
  for (const metric of metrics) {
    const { section, group } = split(metric.name);
    const groups = sections.get(section) ?? new Map();
    sections.set(section, groups);
    const list = groups.get(group) ?? [];
    list.push(metric);
    groups.set(group, list);
  }
  return [...sections.entries()]
    .sort(([a], [b]) => sectionRank(a) - sectionRank(b) || (a < b ? -1 : 1))
    .map(([section, groups]) => ({
      section,
      groups: gathered(
        [...groups.entries()]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([group, list]) => ({ group, metrics: list.sort(byStat) })),
      ),
      count: [...groups.values()].reduce((n, list) => n + list.length, 0),
    }));
}

const SCOPES = ["generated", "trained", "completion"];

/** Put groups of fewer than four metrics together under no heading, so that no heading has a single
 * card.
 * @template T @param {{group: string, metrics: T[]}[]} groups
 * @returns {{group: string, metrics: T[]}[]} */
function gathered(groups) {
  const small = groups.filter((g) => !g.group || g.metrics.length < 4);
  const large = groups.filter((g) => g.group && g.metrics.length >= 4);
  const first = large
    .filter((g) => SCOPES.includes(g.group))
    .sort((a, b) => SCOPES.indexOf(a.group) - SCOPES.indexOf(b.group));
  const rest = large.filter((g) => !first.includes(g));
  return small.length
    ? [...first, { group: "", metrics: small.flatMap((g) => g.metrics) }, ...rest]
    : [...first, ...rest];
}

const HEADLINE = /\/mean@\d+$/; // the score that people quote for an evaluation

/** Evaluation scores first, then by name; of one quantity the mean before std and the extremes.
 * @param {{name: string}} a @param {{name: string}} b */
function byStat(a, b) {
  const lead = Number(HEADLINE.test(b.name)) - Number(HEADLINE.test(a.name));
  if (lead) return lead;
  const [x, y] = [stat(a.name), stat(b.name)];
  if (x.of !== y.of) return x.of < y.of ? -1 : 1;
  return STATS.indexOf(x.stat) - STATS.indexOf(y.stat);
}

/** Metrics that every word of the query fits. A word occurs in the name, a framework's name or the
 * meaning; `/…/` is a regular expression and `reward*` a pattern, both of the name.
 * @template {{name: string, also?: string[], meaning?: string}} T @param {T[]} metrics
 * @param {string} query */
export function find(metrics, query) {
  const tests = query.split(/\s+/).filter(Boolean).map(wordTest);
  if (!tests.length) return metrics;
  return metrics.filter((m) => {
    const text = `${m.name} ${spaced(m.name)} ${(m.also ?? []).join(" ")} ${m.meaning ?? ""}`.toLowerCase();
    return tests.every((fits) => fits(m, text));
  });
}

/** @param {string} word @returns {(m: {name: string, also?: string[]}, text: string) => boolean} */
function wordTest(word) {
  const pattern = patternOf(word);
  if (pattern) return (m) => pattern.test(m.name) || (m.also ?? []).some((name) => pattern.test(name));
  return (_, text) => text.includes(word.toLowerCase());
}

/** The expression of a `/…/` or of a word with `*` or `?`; null for a plain word.
 * @param {string} word @returns {RegExp | null} */
function patternOf(word) {
  const source = /^\/(.+)\/$/.exec(word)?.[1];
  try {
    if (source !== undefined) return new RegExp(source, "i");
  } catch {
    return /(?!)/; // it is not complete yet: nothing fits
  }
  if (!/[*?]/.test(word)) return null;
  const escaped = word.replace(/[.+^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "i");
}

/** `folded` are the names of the minimum and the maximum that the card of a mean also draws.
 * @typedef {{name: string, also?: string[], meaning?: string, folded?: string[]}} Metric */
/** @template T @typedef {{section: string, title: string, groups: {group: string, metrics: T[]}[],
 *   count: number}} Section */

const MANY = 60; // metrics: of more, the watched ones come first
export const MOST_WATCHED = 30;

/** `watch` is the catalogue's list for the algorithm; `still` are names to leave out.
 * @template {Metric} T
 * @param {T[]} all @param {{q: string, pinned: string[], still: Set<string>,
 *   watch: {title: string, charts: string[][]} | null}} how @returns {Section<T>[]} */
export function arranged(all, { q, pinned, still, watch }) {
  const left = still.size ? all.filter((m) => !still.has(m.name)) : all;
  const sections = tree(q ? find(left, q) : fold(left)).map((s) => ({ ...s, title: sectionTitle(s.section) }));
  if (q) return sections;
  const watched = watch && all.length >= MANY ? watch.charts.flat().slice(0, MOST_WATCHED) : [];
  return [
    ...chosen("pinned", "Pinned", pinned, all),
    ...chosen("watched", watch?.title ?? "", watched, all),
    ...sections,
  ];
}

/** A section of metrics by name; none if the run has none of them.
 * @template {Metric} T
 * @param {string} section @param {string} title @param {string[]} names @param {T[]} all
 * @returns {Section<T>[]} */
function chosen(section, title, names, all) {
  const metrics = names.map((name) => all.find((m) => m.name === name)).filter((m) => m !== undefined);
  return metrics.length ? [{ section, title, groups: [{ group: "", metrics }], count: metrics.length }] : [];
}

/** Put the minimum and the maximum of a quantity into the card of its mean.
 * @template {Metric} T @param {T[]} metrics @returns {T[]} */
export function fold(metrics) {
  const names = new Set(metrics.map((m) => m.name));
  const ends = (/** @type {string} */ of) => [`${of}/min`, `${of}/max`].filter((name) => names.has(name));
  return metrics.flatMap((m) => {
    const { of, stat: which } = stat(m.name);
    if ((which === "min" || which === "max") && names.has(`${of}/mean`)) return [];
    const folded = which === "mean" ? ends(of) : [];
    return [folded.length ? { ...m, folded } : m];
  });
}

/** What stands for the catalogue entry of a name without one. */
const UNKNOWN = { meaning: "", good: "context", also: [] };

/** The names of several runs, each once, with what the catalogue says of it.
 * @param {{names: any[], entries: Record<string, any>}[]} lists */
export function mergedNames(lists) {
  /** @type {Map<string, any>} */
  const all = new Map();
  for (const { names, entries } of lists)
    for (const m of names) {
      const entry = entries[m.entry] ?? UNKNOWN;
      if (!all.has(m.name)) all.set(m.name, { ...m, ...entry, also: [...m.also, ...entry.also] });
    }
  return [...all.values()];
}
