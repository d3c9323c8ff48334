/** Marks as functions of a context, columns and two scales. A gap breaks line and band alike. Upper
 * case is a column, lower case a scale. Tests pass a context that records the calls as text. */

import { faint } from "../base/chart/color.js";
import { stretches } from "../base/chart/points.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** @typedef {(v: number) => number} Scale */
/** @typedef {CanvasRenderingContext2D} Ctx */
/** @typedef {{left: number, top: number, right: number, bottom: number, ratio: number}} Box */
/** How one series is drawn. Y is smoothed, or the Mid column itself. `faintLine` is one of many
 * grey lines.
 * @typedef {{Y: ArrayLike<number | null>, color: string, dash: number[], band: boolean,
 *   points: boolean, faintLine: boolean}} Look */

/** Draw one series: band, line, smoothed line, dots, and marks for NaN and infinities.
 * @param {Ctx} ctx @param {Series} s @param {Look} look @param {Scale} x @param {Scale} y
 * @param {Box} box */
export function drawSeries(ctx, s, look, x, y, box) {
  const r = box.ratio;
  const { Y, color, points } = look;
  const smooth = Y !== s.Mid;
  ctx.setLineDash([]);
  if (look.band) {
    ctx.fillStyle = faint(color, 0.14);
    band(ctx, s, x, y);
  }
  ctx.strokeStyle = smooth ? faint(color, 0.35) : color;
  // A line of 1 px takes a tenth of the time.
  ctx.lineWidth = (smooth || look.faintLine ? 1 : points ? 1.5 : 1.25) * r;
  ctx.setLineDash(look.dash.map((d) => d * r));
  line(ctx, s, s.Mid, x, y);
  if (smooth) {
    ctx.strokeStyle = color;
    ctx.lineWidth = (look.faintLine ? 1 : 1.6) * r;
    line(ctx, s, Y, x, y);
  }
  ctx.setLineDash([]);
  ctx.fillStyle = color;
  dots(ctx, s, s.Mid, x, y, (points ? 3 : 2) * r, points);
  const last = s.X.length - 1;
  if (last >= 0 && !points) dot(ctx, x(at(s.X, last)), y(/** @type {number} */ (Y[last])), 2.5 * r);
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.25 * r;
  nonFinite(ctx, s, x, box, 4 * r);
}

/** Fill between lowest and highest.
 * @param {Ctx} ctx @param {Series} s @param {Scale} x @param {Scale} y */
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

/** Draw a line through Y, which has one value per point of the series.
 * @param {Ctx} ctx @param {Series} s @param {ArrayLike<number | null>} Y @param {Scale} x
 * @param {Scale} y */
export function line(ctx, s, Y, x, y) {
  ctx.beginPath();
  for (const [i, j] of stretches(s)) {
    if (j - i === 1) continue;
    ctx.moveTo(x(at(s.X, i)), y(/** @type {number} */ (Y[i])));
    for (let k = i + 1; k < j; k++) ctx.lineTo(x(at(s.X, k)), y(/** @type {number} */ (Y[k])));
  }
  ctx.stroke();
}

/** Draw dots for points between two gaps, which a line cannot show, or for all points.
 * @param {Ctx} ctx @param {Series} s @param {ArrayLike<number | null>} Y @param {Scale} x
 * @param {Scale} y @param {number} r @param {boolean} all */
function dots(ctx, s, Y, x, y, r, all) {
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

/** Draw NaN as a hollow triangle at the top edge, +Inf as a filled one, -Inf as one at the bottom
 * edge.
 * @param {Ctx} ctx @param {Series} s @param {Scale} x @param {{top: number, bottom: number}} box
 * @param {number} r */
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

/** Pixels of marks, without those that would cover another. The header has their number.
 * @param {[number, number][]} marks @param {Scale} x @param {number} r */
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

/** Trace a triangle that points down for sign 1, up for -1.
 * @param {Ctx} ctx @param {number} px @param {number} py @param {number} r @param {number} sign */
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

/** Draw the cells of a distribution: one column per x, one row per bin.
 * @param {Ctx} ctx
 * @param {{X: ArrayLike<number>, width: number, edges: ArrayLike<number>, share: (column: number,
 *   bin: number) => number}} heat
 * @param {Scale} x @param {Scale} y @param {(share: number) => string} color */
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
