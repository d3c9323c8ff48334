/** The answer to an SQL query: column widths, which columns are numbers, what a chart can show, and
 * CSV. */

import { number } from "./format.js";

/** @typedef {{columns: {name: string, type: string}[], rows: any[][]}} Answer */
/** @typedef {{name: string, type: string, numeric: boolean, width: number, shown: (v: any) =>
 *   string}} Cell */

const NUMERIC = /^(u?int|float|double|decimal|hugeint)/;
const WIDEST = 420;
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const WRITTEN_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** How to show each column. @param {Answer} answer @returns {Cell[]} */
export function cells({ columns, rows }) {
  return columns.map(({ name, type }, i) => {
    const numeric = NUMERIC.test(type);
    const shown = (/** @type {any} */ v) =>
      v === null || v === undefined ? "–" : typeof v === "number" && !Number.isInteger(v) ? number(v, 5) : String(v);
    const longest = rows.slice(0, 200).reduce((n, row) => Math.max(n, shown(row[i]).length), name.length);
    return { name, type, numeric, shown, width: Math.min(WIDEST, Math.max(56, Math.ceil(longest * 7.3) + 24)) };
  });
}

/** The first two numeric columns as x and y, or null with fewer columns or at most two rows.
 * @param {Answer} answer @returns {[number, number] | null} */
export function chartable({ columns, rows }) {
  const numeric = columns
    .map((c, i) => ({ i, ok: NUMERIC.test(c.type) && rows.some((r) => typeof r[i] === "number") }))
    .filter((c) => c.ok)
    .map((c) => c.i);
  return rows.length > 2 && numeric.length >= 2
    ? [/** @type {number} */ (numeric[0]), /** @type {number} */ (numeric[1])]
    : null;
}

/** How an answer is drawn: columns by their place, `by` splits it into series (-1: one series).
 * @typedef {{kind: "line" | "bar" | "scatter", x: number, y: number, by: number}} Choice */
/** @typedef {{name: string, points: [any, number][]}} Drawn */

export const KINDS = /** @type {const} */ (["line", "bar", "scatter"]);
export const MOST_SERIES = 12; // as many as have a colour of their own
export const MOST_BARS = 60;

/** Is a column one of numbers? @param {Answer} answer @param {number} i */
export const isNumeric = ({ columns }, i) => NUMERIC.test(columns[i]?.type ?? "");

/** The choice that an address holds, as far as it fits the answer; null if nothing can be drawn.
 * @param {Answer} answer @param {string} text @returns {Choice | null} */
export function choiceOf(answer, text) {
  const usual = usualChoice(answer);
  const [kind = "", ...places] = text.split(",");
  const [x = -1, y = -1, by = -1] = places.map((place) => (place === "" ? -1 : Number(place)));
  const known = KINDS.find((one) => one === kind);
  const fits = known && x in answer.columns && isNumeric(answer, y) && (known === "bar" || isNumeric(answer, x));
  if (!fits || answer.rows.length < 2) return usual;
  return { kind: known, x, y, by: by in answer.columns ? by : -1 };
}

/** Two columns of numbers make a line; words and a number make bars.
 * @param {Answer} answer @returns {Choice | null} */
function usualChoice(answer) {
  const pair = chartable(answer);
  if (pair) return { kind: "line", x: pair[0], y: pair[1], by: -1 };
  const [words, y] = [0, 1].map((want) => answer.columns.findIndex((_, i) => Number(isNumeric(answer, i)) === want));
  if (words === undefined || y === undefined || words < 0 || y < 0 || answer.rows.length < 2) return null;
  return { kind: "bar", x: words, y, by: -1 };
}

/** The choice as the address has it. @param {Choice} choice */
export const writtenChoice = ({ kind, x, y, by }) => [kind, x, y, by].join(",");

/** The series of a choice, in the order in which they come. Rows without a number are left out;
 * lines and dots ascend in x.
 * @param {Answer} answer @param {Choice} choice @returns {Drawn[]} */
export function drawn({ rows }, { kind, x, y, by }) {
  /** @type {Map<string, [any, number][]>} */
  const found = new Map();
  for (const row of rows) {
    if (!Number.isFinite(row[y]) || (kind !== "bar" && !Number.isFinite(row[x]))) continue;
    const name = by < 0 ? "" : String(row[by] ?? "–");
    found.set(name, [...(found.get(name) ?? []), [kind === "bar" ? String(row[x] ?? "–") : row[x], row[y]]]);
  }
  return [...found].map(([name, points]) => ({
    name,
    points: kind === "bar" ? points : points.sort((a, b) => a[0] - b[0]),
  }));
}

/** All rows as CSV. @param {Answer} answer */
export const csv = ({ columns, rows }) =>
  [columns.map((c) => c.name), ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";

/** A text that a spreadsheet would run as a formula gets an apostrophe. @param {any} v */
function field(v) {
  const formula = typeof v === "string" && FORMULA.test(v) && !WRITTEN_NUMBER.test(v);
  const text = v === null || v === undefined ? "" : `${formula ? "'" : ""}${v}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
