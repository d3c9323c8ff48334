/** Columns of the list of runs: what each shows of a run, how it sorts, and how runs are grouped.
 * A column is a word (`eval`), a setting (`config.lr`) or the last value of a metric
 * (`metric.policy/entropy`). */

/** @typedef {import("../../wire/types.gen").RunRow} RunRow */
/** Metric -> run -> its last value. @typedef {Record<string, Record<string, any>>} Values */

/** Columns that every run has: name, title, and whether it holds numbers. */
export const OWN = /** @type {const} */ ([
  ["state", "State", false],
  ["name", "Name", false],
  ["tags", "Tags", false],
  ["note", "Note", false],
  ["project", "Project", false],
  ["group", "Group", false],
  ["algorithm", "Algorithm", false],
  ["framework", "Framework", false],
  ["step", "Step", true],
  ["reward", "Reward", false],
  ["last", "Last", true],
  ["eval", "Eval", true],
  ["delta", "To baseline", true],
  ["findings", "Findings", false],
  ["started", "Started", false],
  ["duration", "Duration", true],
]);
const TITLES = new Map(OWN.map(([name, title]) => [/** @type {string} */ (name), title]));
const NUMBERS = new Set(OWN.filter(([, , numbers]) => numbers).map(([name]) => /** @type {string} */ (name)));
/** Columns that are shown if the address names none. */
export const USUAL = [
  "state",
  "name",
  "tags",
  "project",
  "algorithm",
  "step",
  "reward",
  "last",
  "eval",
  "findings",
  "started",
  "duration",
];

/** @param {string} column */
export const titleOf = (column) => TITLES.get(column) ?? column.replace(/^(config|metric)\./, "");
/** @param {string} column */
export const isNumber = (column) => NUMBERS.has(column) || column.startsWith("metric.");
/** @param {string} column */
export const metricOf = (column) => (column.startsWith("metric.") ? column.slice(7) : "");

/** What a column shows of a run; undefined if the run has none.
 * @param {RunRow} run @param {string} column @param {Values} values @param {number} now ms
 * @returns {any} */
export function valueOf(run, column, values, now) {
  if (column.startsWith("config.")) return run.config[column.slice(7)];
  if (column.startsWith("metric.")) return values[column.slice(7)]?.[run.id];
  if (column === "reward" || column === "last") return run.headline_value;
  if (column === "eval") return run.eval_value;
  if (column === "delta") return values.delta?.[run.id]?.difference ?? undefined;
  if (column === "findings")
    return run.findings ? (run.findings.bad ?? 0) * 1000 + (run.findings.watch ?? 0) : undefined;
  if (column === "started") return run.started_ns || undefined;
  if (column === "duration") return seconds(run, now);
  if (column === "tags") return run.tags.length ? run.tags.join(" ") : undefined;
  return /** @type {any} */ (run)[column];
}

/** How long a run took, in seconds. @param {RunRow} run @param {number} now ms */
export function seconds(run, now) {
  const ended = run.state === "running" ? now * 1e6 : run.ended_ns;
  return run.started_ns && ended > run.started_ns ? (ended - run.started_ns) / 1e9 : undefined;
}

/** Runs in the order of a column; `-eval` is the largest first. Runs without a value come last.
 * @param {RunRow[]} list @param {string} sort @param {Values} values @param {number} now */
export function sorted(list, sort, values, now) {
  if (!sort) return list;
  const [column, sign] = sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
  const keyed = list.map((run, at) => ({ run, at, key: orderKey(valueOf(run, column, values, now)) }));
  keyed.sort((a, b) => {
    if ((a.key === null) !== (b.key === null)) return a.key === null ? 1 : -1;
    return a.key === null ? a.at - b.at : sign * compare(a.key, /** @type {any} */ (b.key)) || a.at - b.at;
  });
  return keyed.map(({ run }) => run);
}

/** @param {any} value @returns {number | string | null} */
function orderKey(value) {
  if (value === undefined || value === null || value === "" || value === "NaN") return null;
  if (typeof value === "number") return Number.isNaN(value) ? null : value;
  if (value === "Infinity" || value === "-Infinity") return Number(value);
  return typeof value === "boolean" ? Number(value) : String(value).toLowerCase();
}

/** @param {number | string} a @param {number | string} b */
function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

/** Runs by the value of a column, in the order in which the values first come.
 * @param {RunRow[]} list @param {string} by @param {Values} values @param {number} now
 * @returns {{key: string, value: any, runs: RunRow[]}[]} */
export function grouped(list, by, values, now) {
  /** @type {Map<string, {key: string, value: any, runs: RunRow[]}>} */
  const groups = new Map();
  for (const run of list) {
    const value = valueOf(run, by, values, now);
    const alone = by === "configuration" && !value;
    const key = alone ? `alone ${run.id}` : value === undefined || value === null ? "" : String(value);
    const group = groups.get(key) ?? { key, value, runs: [] };
    group.runs.push(run);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Settings of these runs with their values, those that differ first.
 * @param {RunRow[]} list @returns {{key: string, values: any[], differs: boolean}[]} */
export function settings(list) {
  /** @type {Map<string, Map<string, any>>} */
  const found = new Map();
  const counts = /** @type {Map<string, number>} */ (new Map());
  for (const { config } of list)
    for (const key in config) {
      const values = found.get(key) ?? new Map();
      if (values.size < 8) values.set(String(config[key]), config[key]);
      found.set(key, values);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  const all = [...found].map(([key, values]) => ({
    key,
    values: [...values.values()],
    differs: values.size > 1 || (counts.get(key) ?? 0) < list.length,
  }));
  return all.sort((a, b) => Number(b.differs) - Number(a.differs) || (a.key < b.key ? -1 : 1));
}
