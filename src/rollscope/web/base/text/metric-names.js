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

/** Metrics in which every word of the query occurs: in the name, a framework's name, or the
 * meaning.
 * @template {{name: string, also?: string[], meaning?: string}} T @param {T[]} metrics
 * @param {string} query */
export function find(metrics, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return metrics;
  return metrics.filter((m) => {
    const text = `${m.name} ${spaced(m.name)} ${(m.also ?? []).join(" ")} ${m.meaning ?? ""}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
}
