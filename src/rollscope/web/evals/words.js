/** Differences of scores in words: scores of 0 to 1 in points of a hundred, others as they are. */

import { number } from "../base/text/format.js";

const MINUS = "\u2212";

/** A difference with its sign. @param {number | null} v @param {boolean} graded */
export function signed(v, graded) {
  if (v === null || Number.isNaN(v)) return "–";
  const text = graded ? Math.abs(100 * v).toFixed(1) : number(Math.abs(v));
  return `${v < 0 && Number(text) !== 0 ? MINUS : "+"}${text}`;
}

/** A change of one task, with two decimals so that a column lines up. @param {number} v */
export const changed = (v) =>
  Math.abs(v) >= 100 ? signed(v, false) : `${v < 0 ? MINUS : v > 0 ? "+" : ""}${Math.abs(v).toFixed(2)}`;

/** The unit of a difference. @param {boolean} graded */
export const unitOf = (graded) => (graded ? "points" : "");

/** A p value as people write it. @param {number | null} p */
export const pOf = (p) => (p === null ? "–" : p < 0.001 ? "p < 0.001" : `p ${p.toFixed(p < 0.1 ? 3 : 2)}`);

const USUAL_MARGIN = 0.01; // of scores from 0 to 1: one point

/** The margin within which two evaluations count as equal; 0 for none.
 * @param {string} asked in the address @param {boolean} graded */
export function marginOf(asked, graded) {
  const margin = asked === "" && graded ? USUAL_MARGIN : Number(asked);
  return margin > 0 && margin < 1e9 ? margin : 0;
}

/** The colour of a score between two ends, 0 to 6; -1 without a score.
 * @param {number} v @param {number} lo @param {number} hi */
export const shadeOf = (v, lo, hi) =>
  Number.isNaN(v) ? -1 : Math.max(0, Math.min(6, Math.round((hi > lo ? (v - lo) / (hi - lo) : 0.5) * 6)));
