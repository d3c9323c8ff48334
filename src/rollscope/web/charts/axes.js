/** What lies under the ink: findings, grid with its labels inside the plot, ranges; and the labels at the ends. */

import { clockLabel, labels, linear, log, seconds, symlog, wallLabel, wallTicks, whole } from "../base/chart/ticks.js";
import { duration, value as worded } from "../base/text/format.js";
import { SANS, faint, ink } from "./theme-colors.js";

/** @typedef {import("./chart.js").Model} Model */
/** @typedef {{left: number, top: number, right: number, bottom: number, ratio: number}} Box */
/** @typedef {(v: number) => number} Scale */
/** @typedef {CanvasRenderingContext2D} Ctx */

/** @param {Ctx} ctx @param {Model} m @param {[number, number]} range @param {number} zone @param {Box} box @param {Scale} x @param {Scale} y */
export function ground(ctx, m, range, zone, box, x, y) {
  intervals(ctx, m, box, x);
  const { ticks, minor } = yTicks(m, range, zone, box);
  const r = box.ratio;
  ctx.lineWidth = r;
  ctx.strokeStyle = ink().grid ?? "";
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
    dotted(
      ctx,
      [zone, -zone].filter((v) => v > range[0] && v < range[1]),
      box,
      y,
    );
  limits(ctx, m, range, box, y);
  return ticks;
}

/** Labels of the grid, inside the plot and over the ink, with a halo so that neither hides the other. @param {Ctx} ctx @param {Model} m @param {number[]} ticks @param {Box} box @param {Scale} y */
export function yLabels(ctx, m, ticks, box, y) {
  const r = box.ratio;
  if ((box.bottom - box.top) / r < 60) return; // a strip, not a chart
  const said = tickLabels(ticks, m);
  ctx.font = `400 ${11 * r}px ${SANS}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.lineJoin = "round";
  ticks.forEach((t, i) => {
    const py = Math.round(y(t));
    if (py > box.bottom - 10 * r) return; // it would touch the x labels
    const at = py - 13 * r < box.top ? py + 12 * r : py - 4 * r;
    ctx.lineWidth = 3 * r;
    ctx.strokeStyle = faint(ink().s1 ?? "", 0.8);
    ctx.strokeText(said[i] ?? "", box.left, at);
    ctx.fillStyle = ink().ink3 ?? "";
    ctx.fillText(said[i] ?? "", box.left, at);
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

/** Shares read as per cent and seconds as durations on the axis too, else the numbers as they are. @param {number[]} ticks @param {Model} m */
function tickLabels(ticks, m) {
  if (["share", "fraction"].includes(m.unit)) return ticks.map((t) => `${worded(t, m.unit).text} %`);
  if (["seconds", "s"].includes(m.unit)) return ticks.map((t) => (t === 0 ? "0" : duration(t)));
  return labels(ticks);
}

/** @param {Ctx} ctx @param {Model} m @param {Box} box @param {Scale} x */
function intervals(ctx, m, box, x) {
  for (const { from, to, severity } of m.intervals) {
    const left = Math.max(box.left, x(from));
    const right = Math.min(box.right, x(to ?? m.hi));
    if (right <= left) continue;
    ctx.fillStyle = ink()[`${severity}-soft`] ?? "";
    ctx.fillRect(left, box.top, right - left, box.bottom - box.top);
    ctx.fillStyle = ink()[severity] ?? "";
    ctx.fillRect(left, box.top - 2 * box.ratio, right - left, 2 * box.ratio);
  }
}

/** Declared ends as hairlines, the healthy zone as a bracket on the left edge. @param {Ctx} ctx @param {Model} m @param {[number, number]} range @param {Box} box @param {Scale} y */
function limits(ctx, m, range, box, y) {
  ctx.strokeStyle = faint(ink().edge ?? "", 0.6);
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
  ctx.fillStyle = faint(ink().good ?? "", 0.75);
  ctx.fillRect(box.left, top, 3 * box.ratio, bottom - top);
}

/** @param {Ctx} ctx @param {number[]} values @param {Box} box @param {Scale} y */
function dotted(ctx, values, box, y) {
  ctx.setLineDash([2 * box.ratio, 3 * box.ratio]);
  ctx.strokeStyle = ink().edge ?? "";
  for (const v of values) {
    const py = Math.round(y(v)) + 0.5;
    stroke(ctx, box.left, py, box.right, py);
  }
  ctx.setLineDash([]);
}

/** @param {Ctx} ctx @param {Model} m @param {Box} box @param {Scale} x */
export function xLabels(ctx, m, box, x) {
  const r = box.ratio;
  const want = Math.max(2, Math.floor((box.right - box.left) / r / (m.x === "time" ? 90 : 70)));
  const timed = m.x === "time" || m.x === "relative";
  const ticks =
    m.x === "time"
      ? wallTicks(m.lo, m.hi, want)
      : timed
        ? seconds(m.lo, m.hi, want)
        : m.x === "step"
          ? whole(m.lo, m.hi, want)
          : linear(m.lo, m.hi, want);
  const said =
    m.x === "time"
      ? ticks.map((t) => wallLabel(t, m.hi - m.lo, m.lo))
      : timed
        ? ticks.map((t) => clockLabel(t, m.hi - m.lo))
        : labels(ticks);
  ctx.font = `400 ${11 * r}px ${SANS}`;
  ctx.fillStyle = ink().ink3 ?? "";
  ctx.textBaseline = "alphabetic";
  ticks.forEach((t, i) => {
    const text = said[i] ?? "";
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "center";
    ctx.fillText(text, Math.max(box.left + half, Math.min(box.right - half, x(t))), box.bottom + 14 * r);
  });
}

/** Names at the ends of two to four lines, pushed apart so that none covers another. @param {Ctx} ctx @param {Model} m @param {ArrayLike<number | null>[]} smoothed @param {Scale} x @param {Scale} y @param {Box} box */
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
    const { top, bottom } = reach(
      m,
      smoothed,
      x,
      y,
      e.px - ctx.measureText(m.styles[e.i]?.label ?? "").width - 6 * r,
      e.px,
    );
    return i === 0 ? Math.min(e.py, top) - 9 * r : Math.max(e.py, bottom) + 9 * r; // the first over all ink, the last under it
  });
  for (let i = 1; i < places.length; i++)
    places[i] = Math.max(/** @type {number} */ (places[i]), /** @type {number} */ (places[i - 1]) + gap);
  const over = Math.max(0, (places[places.length - 1] ?? 0) - (box.bottom - 7 * r));
  ends.forEach((e, i) => {
    const style = /** @type {import("./chart.js").Style} */ (m.styles[e.i]);
    const py = Math.max(box.top + (7 + 14 * i) * r, /** @type {number} */ (places[i]) - over);
    const px = Math.min(box.right - 2 * r, e.px - 6 * r);
    ctx.lineWidth = 3 * r;
    ctx.lineJoin = "round";
    ctx.strokeStyle = ink().s1 ?? "";
    ctx.strokeText(style.label, px, py);
    ctx.fillStyle = style.color;
    ctx.fillText(style.label, px, py);
  });
}

/** Highest and lowest ink between two places. @param {Model} m @param {ArrayLike<number | null>[]} smoothed @param {Scale} x @param {Scale} y @param {number} from @param {number} to */
function reach(m, smoothed, x, y, from, to) {
  const found = { top: Infinity, bottom: -Infinity };
  m.series.forEach((s, k) => {
    for (let i = s.X.length - 1; i >= 0 && x(/** @type {number} */ (s.X[i])) >= from; i--) {
      const v = smoothed[k]?.[i];
      if (v === null || v === undefined || x(/** @type {number} */ (s.X[i])) > to) continue;
      found.top = Math.min(found.top, y(v));
      found.bottom = Math.max(found.bottom, y(v));
    }
  });
  return found;
}

/** @param {Ctx} ctx @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function stroke(ctx, x1, y1, x2, y2) {
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x2, y2);
  ctx.stroke();
}
