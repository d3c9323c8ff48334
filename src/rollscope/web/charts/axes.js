/** Everything of a chart but its series: findings, grid, ranges, labels of the axes, names at the
 * ends of lines. */

import { faint } from "../base/chart/color.js";
import { clockLabel, labels, linear, log, seconds, symlog, wallLabel, wallTicks } from "../base/chart/ticks.js";
import { wholeNumbers } from "../base/chart/ticks.js";
import { duration, value as worded } from "../base/text/format.js";
import { SANS, colors } from "./theme-colors.js";

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./marks.js").Box} Box */
/** @typedef {(v: number) => number} Scale */
/** @typedef {CanvasRenderingContext2D} Ctx */

/** Draw what lies under the series, and return the ticks of y.
 * @param {Ctx} ctx @param {Model} m @param {[number, number]} range @param {number} zone
 * @param {Box} box @param {Scale} x @param {Scale} y */
export function drawGround(ctx, m, range, zone, box, x, y) {
  intervals(ctx, m, box, x);
  const { ticks, minor } = yTicks(m, range, zone, box);
  const r = box.ratio;
  ctx.lineWidth = r;
  ctx.strokeStyle = colors().grid ?? "";
  for (const t of ticks) {
    const py = Math.round(y(t)) + 0.5;
    stroke(ctx, box.left, py, box.right, py);
  }
  for (const t of minor) {
    const py = Math.round(y(t)) + 0.5;
    stroke(ctx, box.left, py, box.left + 5 * r, py);
  }
  if (!ticks.some((t) => Math.abs(y(t) - box.bottom) < 2))
    stroke(ctx, box.left, box.bottom + 0.5, box.right, box.bottom + 0.5);
  if (m.y === "symlog")
    for (const v of [zone, -zone]) if (v > range[0] && v < range[1]) dotted(ctx, Math.round(y(v)) + 0.5, box);
  limits(ctx, m, range, box, y);
  return ticks;
}

/** Draw the labels of y inside the plot and over the series, with a halo that keeps them readable.
 * @param {Ctx} ctx @param {Model} m @param {number[]} ticks @param {Box} box @param {Scale} y */
export function yLabels(ctx, m, ticks, box, y) {
  const r = box.ratio;
  if ((box.bottom - box.top) / r < 60) return; // a strip, not a chart
  const texts = tickLabels(ticks, m);
  ctx.font = `400 ${11 * r}px ${SANS}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.lineJoin = "round";
  ticks.forEach((t, i) => {
    const py = Math.round(y(t));
    if (py > box.bottom - 10 * r) return; // it would touch the x labels
    const at = py - 13 * r < box.top ? py + 12 * r : py - 4 * r;
    ctx.lineWidth = 4 * r;
    ctx.strokeStyle = colors().s1 ?? "";
    ctx.strokeText(texts[i] ?? "", box.left, at);
    ctx.fillStyle = colors().ink3 ?? "";
    ctx.fillText(texts[i] ?? "", box.left, at);
  });
}

/** @param {Model} m @param {[number, number]} range @param {number} zone @param {Box} box */
function yTicks(m, [lo, hi], zone, box) {
  const want = Math.max(2, Math.min(5, Math.round((box.bottom - box.top) / box.ratio / 44)));
  if (m.y === "log" && lo > 0) {
    const { major, minor } = log(lo, hi, want);
    return { ticks: major, minor };
  }
  if (m.y === "symlog") return { ticks: symlog(lo, hi, zone), minor: [] };
  return { ticks: linear(lo, hi, want), minor: [] };
}

/** Labels of y: shares in per cent, seconds as durations, everything else as numbers.
 * @param {number[]} ticks @param {Model} m */
function tickLabels(ticks, m) {
  if (["share", "fraction"].includes(m.unit)) return ticks.map((t) => `${worded(t, m.unit).text} %`);
  if (["seconds", "s"].includes(m.unit)) return ticks.map((t) => (t === 0 ? "0" : duration(t)));
  return labels(ticks);
}

/** Draw the stretches of findings.
 * @param {Ctx} ctx @param {Model} m @param {Box} box @param {Scale} x */
function intervals(ctx, m, box, x) {
  for (const { from, to, severity } of m.intervals) {
    const left = Math.max(box.left, x(from));
    const right = Math.min(box.right, x(to ?? m.hi));
    if (right <= left) continue;
    ctx.fillStyle = colors()[`${severity}-soft`] ?? "";
    ctx.fillRect(left, box.top, right - left, box.bottom - box.top);
    ctx.fillStyle = colors()[severity] ?? "";
    ctx.fillRect(left, box.top - 2 * box.ratio, right - left, 2 * box.ratio);
  }
}

/** Draw declared limits as hairlines, and the healthy zone as a bar at the left edge.
 * @param {Ctx} ctx @param {Model} m @param {[number, number]} range @param {Box} box
 * @param {Scale} y */
function limits(ctx, m, range, box, y) {
  ctx.strokeStyle = faint(colors().edge ?? "", 0.6);
  ctx.lineWidth = box.ratio;
  for (const v of m.declared)
    if (v !== null && v >= range[0] && v <= range[1]) {
      const py = Math.round(y(v)) + 0.5;
      stroke(ctx, box.left, py, box.right, py);
    }
  const [low, high] = m.healthy;
  if (low === null && high === null) return;
  const top = y(Math.min(range[1], high ?? range[1]));
  const bottom = y(Math.max(range[0], low ?? range[0]));
  if (!(bottom > top)) return;
  ctx.fillStyle = faint(colors().good ?? "", 0.75);
  ctx.fillRect(box.left, top, 3 * box.ratio, bottom - top);
}

/** @param {Ctx} ctx @param {number} py @param {Box} box */
function dotted(ctx, py, box) {
  ctx.setLineDash([2 * box.ratio, 3 * box.ratio]);
  ctx.strokeStyle = colors().edge ?? "";
  stroke(ctx, box.left, py, box.right, py);
  ctx.setLineDash([]);
}

/** @type {Record<string, (lo: number, hi: number, want: number) => number[]>} */
const X_TICKS = { time: wallTicks, relative: seconds, step: wholeNumbers };

/** @param {number[]} ticks @param {Model} m */
function xTickLabels(ticks, m) {
  if (m.x === "time") return ticks.map((t) => wallLabel(t, m.hi - m.lo, m.lo));
  if (m.x === "relative") return ticks.map((t) => clockLabel(t, m.hi - m.lo));
  return labels(ticks);
}

/** @param {Ctx} ctx @param {Model} m @param {Box} box @param {Scale} x */
export function xLabels(ctx, m, box, x) {
  const r = box.ratio;
  const want = Math.max(2, Math.floor((box.right - box.left) / r / (m.x === "time" ? 90 : 70)));
  const ticks = (X_TICKS[m.x] ?? linear)(m.lo, m.hi, want);
  const texts = xTickLabels(ticks, m);
  ctx.font = `400 ${11 * r}px ${SANS}`;
  ctx.fillStyle = colors().ink3 ?? "";
  ctx.textBaseline = "alphabetic";
  ticks.forEach((t, i) => {
    const text = texts[i] ?? "";
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "center";
    ctx.fillText(text, Math.max(box.left + half, Math.min(box.right - half, x(t))), box.bottom + 14 * r);
  });
}

/** Draw names at the ends of two to four lines, pushed apart so that none covers another.
 * @param {Ctx} ctx @param {Model} m @param {ArrayLike<number | null>[]} smoothed @param {Scale} x
 * @param {Scale} y @param {Box} box */
export function labelEnds(ctx, m, smoothed, x, y, box) {
  const r = box.ratio;
  const ends = m.series
    .map((s, i) => ({ i, n: s.X.length - 1, s }))
    .filter((e) => e.n >= 0 && m.styles[e.i]?.label)
    .map((e) => ({
      ...e,
      px: x(/** @type {number} */ (e.s.X[e.n])),
      py: y(/** @type {number} */ (smoothed[e.i]?.[e.n] ?? e.s.Mid[e.n])),
    }))
    .sort((a, b) => a.py - b.py);
  ctx.font = `600 ${11 * r}px ${SANS}`;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const gap = 14 * r;
  const last = ends.length - 1;
  const places = ends.map((e, i) => {
    if (i > 0 && i < last) return e.py + 10 * r;
    const width = ctx.measureText(m.styles[e.i]?.label ?? "").width;
    const { top, bottom } = extentBetween(m, smoothed, x, y, e.px - width - 6 * r, e.px);
    // Above or below all lines.
    return i === 0 ? Math.min(e.py, top) - 9 * r : Math.max(e.py, bottom) + 9 * r;
  });
  for (let i = 1; i < places.length; i++)
    places[i] = Math.max(/** @type {number} */ (places[i]), /** @type {number} */ (places[i - 1]) + gap);
  const over = Math.max(0, (places[places.length - 1] ?? 0) - (box.bottom - 7 * r));
  ends.forEach((e, i) => {
    const style = /** @type {import("./model.js").Style} */ (m.styles[e.i]);
    const py = Math.max(box.top + (7 + 14 * i) * r, /** @type {number} */ (places[i]) - over);
    const px = Math.min(box.right - 2 * r, e.px - 6 * r);
    ctx.lineWidth = 3 * r;
    ctx.lineJoin = "round";
    ctx.strokeStyle = colors().s1 ?? "";
    ctx.strokeText(style.label, px, py);
    ctx.fillStyle = style.color;
    ctx.fillText(style.label, px, py);
  });
}

/** The highest and lowest pixel of all lines between two pixels of x.
 * @param {Model} m @param {ArrayLike<number | null>[]} smoothed @param {Scale} x @param {Scale} y
 * @param {number} from @param {number} to */
function extentBetween(m, smoothed, x, y, from, to) {
  const extent = { top: Infinity, bottom: -Infinity };
  m.series.forEach((s, k) => {
    for (let i = s.X.length - 1; i >= 0 && x(/** @type {number} */ (s.X[i])) >= from; i--) {
      const v = smoothed[k]?.[i];
      if (v === null || v === undefined || x(/** @type {number} */ (s.X[i])) > to) continue;
      extent.top = Math.min(extent.top, y(v));
      extent.bottom = Math.max(extent.bottom, y(v));
    }
  });
  return extent;
}

/** @param {Ctx} ctx @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function stroke(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}

/** A linear scale as two numbers that uPlot is asked for once.
 * @param {{valToPos: (v: number, key: string, canvas: boolean) => number}} u @param {string} key
 * @param {number} lo @param {number} hi */
export function straight(u, key, lo, hi) {
  const from = u.valToPos(lo, key, true);
  const by = (u.valToPos(hi, key, true) - from) / (hi - lo || 1);
  return (/** @type {number} */ v) => from + (v - lo) * by;
}

/** A scale of y that ends just outside the box.
 * @param {Model} m @param {Scale} y @param {Box} box */
export function clamped(m, y, box) {
  const [low, high] = [box.bottom + 4 * box.ratio, box.top - 4 * box.ratio];
  const within = (/** @type {number} */ v) => Math.max(high, Math.min(low, y(v)));
  return m.y === "log" ? (/** @type {number} */ v) => (v > 0 ? within(v) : low) : within;
}
