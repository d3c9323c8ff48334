/** The words of the filter box: filters such as `reward<0.5`, `stop:length`, `reason:"zero
 * spread"`, and quoted phrases, which the server searches in the texts of the run.
 * `views/samples/filter_words.py` reads the same language; tests/fixtures/filter_words.json holds
 * both to the same examples. */

/** @typedef {{kind: "filter", field: string, op: string, value: string, text: string} |
 *   {kind: "phrase", value: string, text: string}} Word */

const TOKEN = /(?:[^\s"]*"(?:[^"\\]|\\.)*"|[^\s"]+"?)/g;
const FILTER = /^([A-Za-z_][\w./-]*)(<=|>=|<|>|=|:)(.+)$/s;

/** Words of a query, in order. A word that is not a filter is a phrase.
 * @param {string} query @returns {Word[]} */
export function words(query) {
  return (query.match(TOKEN) ?? []).map(word);
}

/** @param {string} text @returns {Word} */
export function word(text) {
  const match = text.startsWith('"') ? null : FILTER.exec(text);
  if (!match) return phrase(unquoted(text));
  const [, field = "", op = "", value = ""] = match;
  return { kind: "filter", field, op, value: unquoted(value), text };
}

/** @param {string} value @returns {Word} */
export const phrase = (value) => ({ kind: "phrase", value, text: quoted(value) });

/** @param {string} field @param {string} op @param {string} value @returns {Word} */
export const filter = (field, op, value) => ({
  kind: "filter",
  field,
  op,
  value,
  text: `${field}${op}${/[\s"]/.test(value) || value === "" ? quoted(value) : value}`,
});

/** @param {string} text */
const quoted = (text) => `"${text.replace(/["\\]/g, "\\$&")}"`;

/** @param {string} text */
const unquoted = (text) =>
  /^".*"$/s.test(text) && text.length > 1 ? text.slice(1, -1).replace(/\\(["\\])/g, "$1") : text;

/** The query made of these words. @param {Word[]} list */
export const query = (list) => list.map((w) => w.text).join(" ");

/** Words of what a person typed: filters stay filters, everything else together is one phrase.
 * @param {string} typed @returns {Word[]} */
export function typedWords(typed) {
  const parts = words(typed.trim());
  const filters = parts.filter((w) => w.kind === "filter" && !w.text.startsWith("http"));
  const rest = parts
    .filter((w) => !filters.includes(w))
    .map((w) => w.value)
    .join(" ");
  return rest ? [...filters, phrase(rest)] : filters;
}

/** True if a number passes the comparison. `0..0.5` is a range that includes both ends. NaN passes
 * nothing.
 * @param {number} v @param {string} op @param {string} value */
export function passes(v, op, value) {
  if (Number.isNaN(v)) return false;
  const range = /^(-?[\d.eE+-]+?)\.\.(-?[\d.eE+-]+)$/.exec(value);
  if (range && (op === ":" || op === "=")) return v >= Number(range[1]) - 1e-9 && v <= Number(range[2]) + 1e-9;
  const n = Number(value);
  if (Number.isNaN(n)) return false;
  return op === "<"
    ? v < n
    : op === ">"
      ? v > n
      : op === "<="
        ? v <= n
        : op === ">="
          ? v >= n
          : Math.abs(v - n) <= 1e-6 * Math.max(1, Math.abs(n));
}

/** True if a text passes: with `:` it contains the value, with `=` it equals the value.
 * @param {string} text @param {string} op @param {string} value */
export const says = (text, op, value) =>
  op === "=" ? text === value : text.toLowerCase().includes(value.toLowerCase());
