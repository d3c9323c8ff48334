/** The run search's small language (`config.lr=1e-6 tag:ablation state:crashed words`) and the palette's ranking. */

/** @typedef {{id: string, name?: string | null, project?: string | null, group?: string | null, state?: string | null, algorithm?: string | null, framework?: string | null, tags?: string[] | null, config?: any}} RunLike */

/** Does a run satisfy every term? @param {RunLike} run @param {string} query */
export function matches(run, query) {
  return terms(query).every((term) => holds(run, term));
}

/** Words, "quoted words", and key:value or key=value. @param {string} query */
export function terms(query) {
  const found = query.match(/[^\s"]*"[^"]*"|\S+/g) ?? [];
  return found.map((text) => {
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

/** @param {any} config @param {string} path */
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

/** How well a query fits a text: -1 not at all; whole words and starts first, then letters in order. @param {string} text @param {string} query */
export function score(text, query) {
  const [hay, needle] = [text.toLowerCase(), query.toLowerCase().trim()];
  if (!needle) return 0;
  const at = hay.indexOf(needle);
  if (at >= 0)
    return (
      1000 -
      Math.min(400, at) -
      Math.min(200, hay.length - needle.length) +
      (at === 0 || /\W|_/.test(hay[at - 1] ?? " ") ? 400 : 0)
    );
  const words = needle.split(/\s+/);
  if (words.length > 1 && words.every((w) => hay.includes(w))) return 500 - Math.min(200, hay.length);
  let [from, spread] = [0, 0];
  for (const letter of needle.replace(/\s/g, "")) {
    const next = hay.indexOf(letter, from);
    if (next < 0) return -1;
    spread += next - from;
    from = next + 1;
  }
  return spread > needle.length * 3 ? -1 : 100 - spread;
}
