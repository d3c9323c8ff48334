/** Draw curves of groups on a canvas: band, single runs, centre, and the difference below. */

import { labels, linear } from "../base/chart/ticks.js";
import { SANS, colors } from "../charts/theme-colors.js";

/** One metric of an answer. Lists have an entry per group; `runs` per run with its group.
 * @typedef {{x: ArrayLike<number>, lo: number, hi: number, centre: ArrayLike<number>[],
 *   low: ArrayLike<number>[], high: ArrayLike<number>[],
 *   runs: {group: number, values: ArrayLike<number>}[], colors: string[],
 *   gap: {centre: ArrayLike<number>, low: ArrayLike<number>, high: ArrayLike<number>} | null,
 *   noise: number | null, parts: number | null, at: number | null}} Drawing */

export const PLOT = 109;
const BETWEEN = 10;
const BELOW = 54;
export const HEIGHT = PLOT + BETWEEN + BELOW + 16;
const TOP = 14; // room for the words about the parting

/** @param {HTMLCanvasElement} canvas @param {Drawing} d @param {(x: number) => string} named */
export function draw(canvas, d, named) {
  const width = canvas.clientWidth;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const ink = canvas.getContext("2d");
  if (!ink || !width) return;
  ink.scale(ratio, ratio);
  ink.font = `11px ${SANS}`;
  const x = (/** @type {number} */ v) => 1 + ((width - 8) * (v - d.lo)) / (d.hi - d.lo || 1);
  const [low, high] = range([...d.centre, ...d.low, ...d.high, ...d.runs.map((r) => r.values)]);
  const y = scale(low, high, TOP, PLOT - 4);
  grid(ink, low, high, y, width);
  d.runs.forEach((r) => line(ink, d.x, r.values, x, y, d.colors[r.group] ?? "", 1, 0.35));
  d.centre.forEach((_, g) => band(ink, d.x, d.low[g] ?? [], d.high[g] ?? [], x, y, d.colors[g] ?? "", 0.18));
  d.centre.forEach((c, g) => line(ink, d.x, c, x, y, d.colors[g] ?? "", 1.6, 1));
  if (d.gap) difference(ink, d, x, width);
  if (d.parts !== null) mark(ink, x(d.parts), `parts at ${named(d.parts)}`, width);
  if (d.at !== null) caret(ink, x(d.at));
  axis(ink, d, x, width, named);
}

/** @param {CanvasRenderingContext2D} ink @param {Drawing} d @param {(v: number) => number} x
 * @param {number} width */
function difference(ink, d, x, width) {
  const gap = /** @type {NonNullable<Drawing["gap"]>} */ (d.gap);
  const around = d.noise === null ? [0, 0] : [-d.noise, d.noise];
  const [low, high] = range([gap.centre, gap.low, gap.high, around]);
  const y = scale(low, high, PLOT + BETWEEN + 12, PLOT + BETWEEN + BELOW);
  const c = colors();
  if (d.noise !== null) {
    ink.fillStyle = c.ink3 ?? "";
    ink.globalAlpha = 0.16;
    ink.fillRect(1, y(d.noise), width - 8, Math.max(1, y(-d.noise) - y(d.noise)));
    ink.globalAlpha = 1;
  }
  segment(ink, [1, y(0)], [width - 7, y(0)], c.line ?? "");
  band(ink, d.x, gap.low, gap.high, x, y, c.ink ?? "", 0.16);
  line(ink, d.x, gap.centre, x, y, c.ink ?? "", 1.4, 1);
}

/** @param {ArrayLike<number>[]} lists @returns {[number, number]} */
function range(lists) {
  let [low, high] = [Infinity, -Infinity];
  for (const list of lists)
    for (let i = 0; i < list.length; i++) {
      const v = /** @type {number} */ (list[i]);
      if (v < low) low = v;
      if (v > high) high = v;
    }
  if (low > high) return [0, 1];
  const pad = low === high ? Math.abs(low) * 0.05 || 1 : 0;
  return [low - pad, high + pad];
}

/** @param {number} low @param {number} high @param {number} top @param {number} bottom */
const scale = (low, high, top, bottom) => (/** @type {number} */ v) =>
  bottom - ((bottom - top) * (v - low)) / (high - low || 1);

/** @param {CanvasRenderingContext2D} ink @param {number} low @param {number} high
 * @param {(v: number) => number} y @param {number} width */
function grid(ink, low, high, y, width) {
  const ticks = linear(low, high, 3);
  const words = labels(ticks);
  const c = colors();
  ticks.forEach((v, i) => {
    segment(ink, [1, y(v)], [width - 7, y(v)], c.grid ?? "");
    if (y(v) > TOP + 8) text(ink, words[i] ?? "", 1, y(v) - 3, c.ink3 ?? "");
  });
}

/** Words on a halo of the surface. @param {CanvasRenderingContext2D} ink @param {string} words
 * @param {number} x @param {number} y @param {string} color */
function text(ink, words, x, y, color) {
  ink.lineWidth = 3;
  ink.strokeStyle = colors().s1 ?? "";
  ink.strokeText(words, x, y);
  ink.fillStyle = color;
  ink.fillText(words, x, y);
}

/** @param {CanvasRenderingContext2D} ink @param {number[][]} points @param {string} color
 * @param {number} width @param {number} alpha */
function stroke(ink, points, color, width, alpha) {
  ink.beginPath();
  points.forEach(([px, py], i) => (i ? ink.lineTo(px ?? 0, py ?? 0) : ink.moveTo(px ?? 0, py ?? 0)));
  ink.strokeStyle = color;
  ink.lineWidth = width;
  ink.globalAlpha = alpha;
  ink.stroke();
  ink.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} ink @param {number[]} from @param {number[]} to
 * @param {string} color @param {number} [alpha] */
const segment = (ink, from, to, color, alpha = 1) => stroke(ink, [from, to], color, 1, alpha);

/** A line through the points that are there. Points far apart, as evaluations are, are joined.
 * @param {CanvasRenderingContext2D} ink @param {ArrayLike<number>} X @param {ArrayLike<number>} Y
 * @param {(v: number) => number} x @param {(v: number) => number} y @param {string} color
 * @param {number} width @param {number} alpha */
function line(ink, X, Y, x, y, color, width, alpha) {
  const points = known(X, Y).map((i) => [x(Number(X[i])), y(Number(Y[i]))]);
  stroke(ink, points, color, width, alpha);
}

/** @param {CanvasRenderingContext2D} ink @param {ArrayLike<number>} X @param {ArrayLike<number>} L
 * @param {ArrayLike<number>} H @param {(v: number) => number} x @param {(v: number) => number} y
 * @param {string} color @param {number} alpha */
function band(ink, X, L, H, x, y, color, alpha) {
  const at = known(X, L);
  if (at.length < 2) return;
  ink.beginPath();
  at.forEach((i, n) =>
    n ? ink.lineTo(x(Number(X[i])), y(Number(H[i]))) : ink.moveTo(x(Number(X[i])), y(Number(H[i]))),
  );
  at.toReversed().forEach((i) => ink.lineTo(x(Number(X[i])), y(Number(L[i]))));
  ink.fillStyle = color;
  ink.globalAlpha = alpha;
  ink.fill();
  ink.globalAlpha = 1;
}

/** Where a list has numbers. @param {ArrayLike<number>} X @param {ArrayLike<number>} Y */
function known(X, Y) {
  const at = [];
  for (let i = 0; i < X.length; i++) if (!Number.isNaN(Y[i]) && Y[i] !== undefined) at.push(i);
  return at;
}

/** @param {CanvasRenderingContext2D} ink @param {number} x @param {string} words
 * @param {number} width */
function mark(ink, x, words, width) {
  const c = colors();
  ink.setLineDash([2, 3]);
  segment(ink, [x, 2], [x, PLOT + BETWEEN + BELOW], c.ink2 ?? "");
  ink.setLineDash([]);
  const long = ink.measureText(words).width;
  ink.font = `600 11px ${SANS}`;
  text(ink, words, x + long + 12 > width ? x - long - 8 : x + 4, 10, c.ink ?? "");
  ink.font = `11px ${SANS}`;
}

/** @param {CanvasRenderingContext2D} ink @param {number} x */
const caret = (ink, x) => segment(ink, [x, TOP], [x, PLOT + BETWEEN + BELOW], colors().accent ?? "", 0.7);

/** @param {CanvasRenderingContext2D} ink @param {Drawing} d @param {(v: number) => number} x
 * @param {number} width @param {(x: number) => string} named */
function axis(ink, d, x, width, named) {
  const color = colors().ink3 ?? "";
  for (const v of linear(d.lo, d.hi, Math.max(2, Math.floor(width / 110)))) {
    const words = named(v);
    const half = ink.measureText(words).width / 2;
    ink.fillStyle = color;
    ink.fillText(words, Math.max(0, Math.min(width - 2 * half, x(v) - half)), HEIGHT - 3);
  }
}
