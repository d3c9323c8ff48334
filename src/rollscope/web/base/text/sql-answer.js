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

/** Points of the chart, sorted by x. Rows without both numbers are left out.
 * @param {Answer} answer @param {[number, number]} pair @returns {[number, number][]} */
export const pairs = ({ rows }, [x, y]) =>
  rows
    .filter((r) => Number.isFinite(r[x]) && Number.isFinite(r[y]))
    .map((r) => /** @type {[number, number]} */ ([r[x], r[y]]))
    .sort((a, b) => a[0] - b[0]);

/** All rows as CSV. @param {Answer} answer */
export const csv = ({ columns, rows }) =>
  [columns.map((c) => c.name), ...rows].map((row) => row.map(field).join(",")).join("\n") + "\n";

/** A text that a spreadsheet would run as a formula gets an apostrophe. @param {any} v */
function field(v) {
  const formula = typeof v === "string" && FORMULA.test(v) && !WRITTEN_NUMBER.test(v);
  const text = v === null || v === undefined ? "" : `${formula ? "'" : ""}${v}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
