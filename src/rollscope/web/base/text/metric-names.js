/** Names as a tree: section, group, leaf; how a leaf is written for people; and what a search finds. */

const STATS = ["mean", "std", "min", "max", "p05", "p50", "p95", "gini"];

/** No slash is section `general`, one gives section and metric, more give section, group and the rest. @param {string} name */
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
export const spaced = (text) => text.replaceAll("_", " ").replaceAll("/", " ");

/** A section as a heading: sentence case, but `KL` and `MFU` as they are written. @param {string} text */
export const heading = (text) => {
  const words = spaced(text);
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** What stands in `ink3` before the title, and the title. @param {string} name */
export function title(name) {
  const { section, group, leaf } = split(name);
  return { before: group ? spaced(group) : STATS.includes(leaf) ? spaced(section) : "", leaf: spaced(leaf) };
}

/** The same where sections are mixed: everything before the last part, then it. @param {string} name */
export function fullTitle(name) {
  const at = name.lastIndexOf("/");
  return { before: at < 0 ? "" : spaced(name.slice(0, at)), leaf: spaced(name.slice(at + 1)) };
}

/** The statistic a name ends in, and the name without it. @param {string} name */
export function stat(name) {
  const at = name.lastIndexOf("/");
  const last = name.slice(at + 1);
  return STATS.includes(last) ? { of: name.slice(0, at), stat: last } : { of: name, stat: "" };
}

/** Sections in the order a run is read in; unknown ones follow by name, the machine comes last. */
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

/** @param {string} section */
export function sectionRank(section) {
  const first = FIRST.indexOf(section);
  if (first >= 0) return first;
  const last = LAST.indexOf(section);
  return last >= 0 ? 1000 + last : 500;
}

/** @template {{name: string}} T @param {T[]} metrics @returns {{section: string, groups: {group: string, metrics: T[]}[], count: number}[]} */
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

/** Groups of fewer than four stand together, without a heading of their own: a heading for one card is more frame than picture.
 * @template T @param {{group: string, metrics: T[]}[]} groups @returns {{group: string, metrics: T[]}[]} */
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

const HEADLINE = /\/mean@\d+$/; // what an evaluation is quoted by

/** Scores first, mean before std before the extremes; else by name. @param {{name: string}} a @param {{name: string}} b */
function byStat(a, b) {
  const lead = Number(HEADLINE.test(b.name)) - Number(HEADLINE.test(a.name));
  if (lead) return lead;
  const [x, y] = [stat(a.name), stat(b.name)];
  if (x.of !== y.of) return x.of < y.of ? -1 : 1;
  return STATS.indexOf(x.stat) - STATS.indexOf(y.stat);
}

/** Every word must occur in the name, in a framework's name for it, or in its meaning. @template {{name: string, also?: string[], meaning?: string}} T @param {T[]} metrics @param {string} query */
export function find(metrics, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return metrics;
  return metrics.filter((m) => {
    const text = `${m.name} ${spaced(m.name)} ${(m.also ?? []).join(" ")} ${m.meaning ?? ""}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
}
