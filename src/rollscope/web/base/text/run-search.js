/** The language of the run search: `config.lr=1e-6 tag:ablation not state:crashed name:/grpo-\d/`.
 * A word is searched in names, projects and tags; `/…/` is a regular expression. */

/** @typedef {{id: string, name?: string | null, project?: string | null, group?: string | null,
 *   state?: string | null, algorithm?: string | null, framework?: string | null, tags?: string[] |
 *   null, note?: string | null, config?: any}} RunLike */
/** @typedef {{key: string, op: string, value: string, not: boolean,
 *   pattern: RegExp | null}} Term */
/** What a column shows of a run, for keys that are no field of it.
 * @typedef {(run: any, key: string) => any} ValueOf */

/** True if a run satisfies every term. @param {RunLike} run @param {string} query */
export const matches = (run, query) => matcher(query)(run);

/** The same for many runs: the query is read once.
 * @param {string} query @param {ValueOf} [valueOf] @returns {(run: RunLike) => boolean} */
export function matcher(query, valueOf) {
  const all = terms(query);
  return (run) => all.every((term) => term.not !== holds(run, term, valueOf));
}

/** Why a query cannot be read; "" if it can. @param {string} query */
export function problem(query) {
  for (const { value } of terms(query)) {
    const source = inSlashes(value);
    if (source === null) continue;
    try {
      new RegExp(source, "i");
    } catch (error) {
      const why = String(/** @type {Error} */ (error).message).replace(/^Invalid regular expression: /, "");
      return `/${source}/ is no regular expression: ${why}`;
    }
  }
  return "";
}

/** Split a query into words, "quoted words", /patterns/ and pairs such as key:value or key=value.
 * @param {string} query @returns {Term[]} */
function terms(query) {
  const tokens = query.match(/[^\s"/]*\/(?:\\.|[^/\\])+\/(?=\s|$)|[^\s"]*"[^"]*"|\S+/g) ?? [];
  const found = [];
  let not = false;
  for (const text of tokens) {
    if (text === "not") {
      not = true;
      continue;
    }
    const bare = text.replaceAll('"', "");
    const pair = /^([\w.@/-]+?)(!=|<=|>=|[:=<>])(.*)$/.exec(bare.startsWith("/") ? "" : bare);
    const [key, op, value] = pair ? [pair[1] ?? "", pair[2] ?? "", pair[3] ?? ""] : ["", "", bare];
    found.push({ key, op, value, not, pattern: pattern(value) });
    not = false;
  }
  return found;
}

/** @param {string} value */
const inSlashes = (value) =>
  value.length > 2 && value.startsWith("/") && value.endsWith("/") ? value.slice(1, -1) : null;

/** @param {string} value @returns {RegExp | null} */
function pattern(value) {
  const source = inSlashes(value);
  try {
    return source === null ? null : new RegExp(source, "i");
  } catch {
    return /(?!)/; // it is not complete yet: nothing fits
  }
}

/** @param {RunLike} run @param {Term} term @param {ValueOf} [valueOf] */
function holds(run, term, valueOf) {
  const { key, op, value, pattern } = term;
  if (!key) {
    const word = value.toLowerCase();
    return textsOf(run).some((text) => (pattern ? pattern.test(text) : text.includes(word)));
  }
  // `eval` is the name of an evaluation, and its column shows the score.
  const actual = valueOf && key === "eval" ? valueOf(run, key) : (known(run, key) ?? valueOf?.(run, key));
  if (pattern)
    return (Array.isArray(actual) ? actual : [actual]).some((one) => one != null && pattern.test(String(one)));
  if (Array.isArray(actual)) return (op === "!=") !== actual.some((a) => same(a, value, ":"));
  return same(actual, value, op);
}

/** @param {RunLike} run @param {string} key */
function known(run, key) {
  if (key.startsWith("config.")) return dig(run.config, key.slice(7));
  return key === "tag" || key === "tags" ? run.tags : /** @type {any} */ (run)[key];
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

/** The texts that words are searched in, kept while the row lives.
 * @type {WeakMap<object, string[]>} */
const kept = new WeakMap();

/** @param {RunLike} run @returns {string[]} */
function textsOf(run) {
  const known = kept.get(run);
  if (known) return known;
  const { id, name, project, group, algorithm, framework, state, note, tags } = run;
  const all = [id, name, project, group, algorithm, framework, state, note, ...(tags ?? [])];
  const texts = all.filter(Boolean).map((text) => String(text).toLowerCase());
  kept.set(run, texts);
  return texts;
}
