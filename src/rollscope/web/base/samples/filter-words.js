/** The filter box as words: `reward<0.5`, `stop:length`, `reason:"zero spread"`, and phrases in quotes, which are looked for in the text of the run. */

/** @typedef {{kind: "filter", field: string, op: string, value: string, text: string} | {kind: "phrase", value: string, text: string}} Word */

const PIECE = /(?:[^\s"]*"(?:[^"\\]|\\.)*"|[^\s"]+"?)/g;
const FILTER = /^([A-Za-z_][\w./-]*)(<=|>=|<|>|=|:)(.+)$/s;

/** Words of a query, in order. What is no filter is a phrase. @param {string} query @returns {Word[]} */
export function words(query) {
  return (query.match(PIECE) ?? []).map(word);
}

/** @param {string} text @returns {Word} */
export function word(text) {
  const found = text.startsWith('"') ? null : FILTER.exec(text);
  if (!found) return phrase(unquoted(text));
  const [, field = "", op = "", value = ""] = found;
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

/** The query that these words are. @param {Word[]} list */
export const query = (list) => list.map((w) => w.text).join(" ");

/** What a person typed and sent: filters stay filters, the rest together is one phrase. @param {string} typed @returns {Word[]} */
export function typedWords(typed) {
  const parts = words(typed.trim());
  const filters = parts.filter((w) => w.kind === "filter" && !w.text.startsWith("http"));
  const rest = parts
    .filter((w) => !filters.includes(w))
    .map((w) => w.value)
    .join(" ");
  return rest ? [...filters, phrase(rest)] : filters;
}

/** Does a number pass? `0..0.5` is a range with both ends in it. @param {number} v @param {string} op @param {string} value */
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

/** Does a word pass? With `:` part of it is enough, with `=` it is the whole. @param {string} text @param {string} op @param {string} value */
export const says = (text, op, value) =>
  op === "=" ? text === value : text.toLowerCase().includes(value.toLowerCase());
