/** Ink, as functions of a context, columns and two scales. Missing data is missing ink: a gap breaks line and band alike.
 *  Upper case is a column, lower case a scale. A recording context turns any of these into text for tests. */

import { stretches } from "../base/chart/points.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** @typedef {(v: number) => number} Scale */
/** @typedef {CanvasRenderingContext2D} Ctx */

/** Lowest to highest as a fill. @param {Ctx} ctx @param {Series} s @param {Scale} x @param {Scale} y */
export function band(ctx, s, x, y) {
  for (const [i, j] of stretches(s)) {
    if (j - i < 2) continue;
    ctx.beginPath();
    for (let k = i; k < j; k++) ctx.lineTo(x(at(s.X, k)), y(at(s.Hi, k)));
    for (let k = j - 1; k >= i; k--) ctx.lineTo(x(at(s.X, k)), y(at(s.Lo, k)));
    ctx.closePath();
    ctx.fill();
  }
}

/** A line through Y, which has one value per point of the series. @param {Ctx} ctx @param {Series} s @param {ArrayLike<number | null>} Y @param {Scale} x @param {Scale} y */
export function line(ctx, s, Y, x, y) {
  ctx.beginPath();
  for (const [i, j] of stretches(s)) {
    if (j - i === 1) continue;
    ctx.moveTo(x(at(s.X, i)), y(/** @type {number} */ (Y[i])));
    for (let k = i + 1; k < j; k++) ctx.lineTo(x(at(s.X, k)), y(/** @type {number} */ (Y[k])));
  }
  ctx.stroke();
}

/** Points that a line cannot show: alone between two gaps, or all of them when there are few. @param {Ctx} ctx @param {Series} s @param {ArrayLike<number | null>} Y @param {Scale} x @param {Scale} y @param {number} r @param {boolean} all */
export function dots(ctx, s, Y, x, y, r, all) {
  for (const [i, j] of stretches(s)) {
    if (!all && j - i > 1) continue;
    for (let k = i; k < j; k++) dot(ctx, x(at(s.X, k)), y(/** @type {number} */ (Y[k])), r);
  }
}

/** @param {Ctx} ctx @param {number} px @param {number} py @param {number} r */
export function dot(ctx, px, py, r) {
  ctx.beginPath();
  ctx.arc(px, py, r, 0, Math.PI * 2);
  ctx.fill();
}

/** NaN a hollow triangle at the top edge, +Inf a filled one there, -Inf one at the bottom edge. @param {Ctx} ctx @param {Series} s @param {Scale} x @param {{top: number, bottom: number}} box @param {number} r */
export function nonFinite(ctx, s, x, box, r) {
  for (const px of apart(s.marks.nan, x, r)) {
    triangle(ctx, px, box.top + r + 1, r, 1);
    ctx.stroke();
  }
  for (const px of apart(s.marks.up, x, r)) {
    triangle(ctx, px, box.top + r + 1, r, -1);
    ctx.fill();
  }
  for (const px of apart(s.marks.down, x, r)) {
    triangle(ctx, px, box.bottom - r - 1, r, 1);
    ctx.fill();
  }
}

/** Places of marks, those that would only cover another left out: their number is in the header. @param {[number, number][]} marks @param {Scale} x @param {number} r */
function apart(marks, x, r) {
  let last = -Infinity;
  return marks
    .map(([v]) => x(v))
    .filter((px) => {
      const free = px - last >= r * 2.5;
      if (free) last = px;
      return free;
    });
}

/** Pointing down for 1, up for -1. @param {Ctx} ctx @param {number} px @param {number} py @param {number} r @param {number} sign */
export function triangle(ctx, px, py, r, sign) {
  ctx.beginPath();
  ctx.moveTo(px - r, py - r * 0.8 * sign);
  ctx.lineTo(px + r, py - r * 0.8 * sign);
  ctx.lineTo(px, py + r * 0.8 * sign);
  ctx.closePath();
}

/** @param {Ctx} ctx @param {number} px @param {number} py @param {number} r */
export function diamond(ctx, px, py, r) {
  ctx.beginPath();
  ctx.moveTo(px, py - r);
  ctx.lineTo(px + r, py);
  ctx.lineTo(px, py + r);
  ctx.lineTo(px - r, py);
  ctx.closePath();
  ctx.fill();
}

/** Cells of a distribution: one column per x, one row per bin. @param {Ctx} ctx @param {{X: ArrayLike<number>, width: number, edges: ArrayLike<number>, share: (column: number, bin: number) => number}} heat @param {Scale} x @param {Scale} y @param {(share: number) => string} color */
export function cells(ctx, heat, x, y, color) {
  for (let i = 0; i < heat.X.length; i++) {
    const left = Math.round(x(at(heat.X, i) - heat.width / 2));
    const right = Math.max(left + 1, Math.round(x(at(heat.X, i) + heat.width / 2)));
    for (let b = 0; b + 1 < heat.edges.length; b++) {
      const share = heat.share(i, b);
      if (!(share > 0)) continue;
      const [low, high] = [Math.round(y(at(heat.edges, b))), Math.round(y(at(heat.edges, b + 1)))];
      ctx.fillStyle = color(share);
      ctx.fillRect(left, Math.min(low, high), right - left, Math.max(1, Math.abs(low - high)));
    }
  }
}

/** @param {ArrayLike<number>} column @param {number} i */
const at = (column, i) => /** @type {number} */ (column[i]);
