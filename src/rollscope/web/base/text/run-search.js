/** The language of the run search: `config.lr=1e-6 tag:ablation state:crashed words`. */

/** @typedef {{id: string, name?: string | null, project?: string | null, group?: string | null,
 *   state?: string | null, algorithm?: string | null, framework?: string | null, tags?: string[] |
 *   null, config?: any}} RunLike */

/** True if a run satisfies every term. @param {RunLike} run @param {string} query */
export function matches(run, query) {
  return terms(query).every((term) => holds(run, term));
}

/** Split a query into words, "quoted words", and pairs such as key:value or key=value.
 * @param {string} query */
function terms(query) {
  const tokens = query.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];
  return tokens.map((text) => {
    const bare = text.replaceAll('"', "");
    const pair = /^([\w.]+)(!=|<=|>=|[:=<>])(.*)$/.exec(bare);
    return pair
      ? {
          key: /** @type {string} */ (pair[1]),
          op: /** @type {string} */ (pair[2]),
          value: /** @type {string} */ (pair[3]),
        }
      : { key: "", op: "", value: bare };
  });
}

/** @param {RunLike} run @param {{key: string, op: string, value: string}} term */
function holds(run, { key, op, value }) {
  if (!key) return haystack(run).includes(value.toLowerCase());
  const actual = key.startsWith("config.")
    ? dig(run.config, key.slice(7))
    : key === "tag" || key === "tags"
      ? run.tags
      : /** @type {any} */ (run)[key];
  if (Array.isArray(actual)) return (op === "!=") !== actual.some((a) => same(a, value, ":"));
  return same(actual, value, op);
}

/** @param {any} actual @param {string} value @param {string} op @returns {boolean} */
function same(actual, value, op) {
  if (op === "!=") return !same(actual, value, "=");
  if (actual === undefined || actual === null) return false;
  const [a, b] = [Number(actual), Number(value)];
  const numeric = value !== "" && !Number.isNaN(a) && !Number.isNaN(b);
  if (op === "<" || op === ">" || op === "<=" || op === ">=")
    return (numeric && (op[0] === "<" ? a < b : a > b)) || (numeric && op.length === 2 && a === b);
  if (numeric) return a === b;
  const [text, word] = [String(actual).toLowerCase(), value.toLowerCase()];
  return op === "=" ? text === word : text.includes(word);
}

/** A setting by its dotted path, nested or flat. @param {any} config @param {string} path */
function dig(config, path) {
  if (config && path in config) return config[path];
  return path.split(".").reduce((at, key) => (at && typeof at === "object" ? at[key] : undefined), config);
}

/** @param {RunLike} run */
const haystack = (run) =>
  [run.id, run.name, run.project, run.group, run.algorithm, run.framework, run.state, ...(run.tags ?? [])]
    .filter(Boolean)
    .join(" ")
    .toLowerCase();
