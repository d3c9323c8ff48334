/** Drawings of a full run: the tape (reward as a line, dropped share as bars below it, evaluations,
 * findings, and on top the caret and the brush), and the sparkline of a run. */

import { faint } from "../base/chart/color.js";
import { extent } from "../base/chart/scale.js";
import { wholeNumbers } from "../base/chart/ticks.js";
import { count } from "../base/text/format.js";
import { diamond, triangle } from "./marks.js";
import { SANS, colors } from "./theme-colors.js";

/** @typedef {import("../state.js").Tape} Tape */
/** @typedef {{width: number, height: number, pad: number, lo: number, hi: number}} Frame */

const STUB = 0.09;

/** Map a step to a pixel. The axis ends at the last recorded step plus a stub, not at the planned
 * total.
 * @param {Frame} f */
export const toX = (f) => (/** @type {number} */ step) =>
  f.pad + ((f.width - 2 * f.pad) * (1 - STUB) * (step - f.lo)) / Math.max(1, f.hi - f.lo);
/** Map a pixel to a step. @param {Frame} f */
export const toStep = (f) => (/** @type {number} */ px) =>
  f.lo + ((px - f.pad) / ((f.width - 2 * f.pad) * (1 - STUB))) * Math.max(1, f.hi - f.lo);

/** Size and clear a canvas. @param {HTMLCanvasElement} canvas @param {Frame} f */
function prepare(canvas, f) {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(f.width * ratio)) canvas.width = Math.round(f.width * ratio);
  if (canvas.height !== Math.round(f.height * ratio)) canvas.height = Math.round(f.height * ratio);
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, f.width, f.height);
  return ctx;
}

/** Draw the part that stays while the caret moves.
 * @param {HTMLCanvasElement} canvas @param {Tape} tape @param {Frame} f @param {string} color
 * @param {boolean} crashed */
export function drawTape(canvas, tape, f, color, crashed) {
  const ctx = prepare(canvas, f);
  const x = toX(f);
  const floor = f.height - 16;
  const marks = tape.evals.map((e) => x(e.step));
  bars(ctx, tape, x, floor);
  line(ctx, tape, x, floor, color);
  axis(ctx, f, x);
  ctx.fillStyle = colors().ink2 ?? "";
  for (const px of marks) diamond(ctx, px, 6, 3.5);
  flags(ctx, tape, x, marks);
  if (crashed) {
    ctx.fillStyle = colors().bad ?? "";
    ctx.fillRect(x(tape.last), 0, 2, f.height);
  }
  const findings = tape.findings.filter((d) => !d.hidden).length;
  const [points, evals, notes] = [tape.x.length, tape.evals.length, tape.notes.length];
  canvas.dataset.ink = `points=${points} evals=${evals} findings=${findings} notes=${notes}`;
}

const BAR = 7; // px of a bar that stands for all samples
const FLAGS = 13; // px at the top for evaluations, findings and notes

/** @param {CanvasRenderingContext2D} ctx @param {Tape} tape @param {(s: number) => number} x
 * @param {number} floor */
function bars(ctx, tape, x, floor) {
  ctx.fillStyle = faint(colors().edge ?? "", 0.4);
  const width = tape.x.length > 1 ? x(tape.x[1] ?? 0) - x(tape.x[0] ?? 0) : 2;
  tape.dropped.forEach((share, i) => {
    if (share === null || share <= 0) return;
    const height = Math.max(1, share * BAR);
    ctx.fillRect(x(tape.x[i] ?? 0) - width / 2, floor - height + 1, Math.max(1, width * 0.86), height);
  });
}

/** @param {CanvasRenderingContext2D} ctx @param {Tape} tape @param {(s: number) => number} x
 * @param {number} floor @param {string} color */
function line(ctx, tape, x, floor, color) {
  const range = extent([tape.reward]);
  if (!range) return;
  const [lo, hi] = range;
  const [top, bottom] = [FLAGS + 2, floor - 1];
  const y = (/** @type {number} */ v) =>
    hi > lo ? bottom - ((bottom - top) * (v - lo)) / (hi - lo) : (top + bottom) / 2;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let pen = false;
  tape.reward.forEach((v, i) => {
    if (v === null) {
      pen = false;
      return;
    }
    if (pen) ctx.lineTo(x(tape.x[i] ?? 0), y(v));
    else ctx.moveTo(x(tape.x[i] ?? 0), y(v));
    pen = true;
  });
  ctx.stroke();
}

/** @param {CanvasRenderingContext2D} ctx @param {Frame} f @param {(s: number) => number} x */
function axis(ctx, f, x) {
  ctx.font = `400 11px ${SANS}`;
  ctx.fillStyle = colors().ink3 ?? "";
  ctx.textBaseline = "alphabetic";
  for (const t of wholeNumbers(f.lo, f.hi, Math.max(2, Math.floor((f.width - 2 * f.pad) / 130)))) {
    const text = count(t);
    const half = ctx.measureText(text).width / 2;
    ctx.textAlign = "center";
    ctx.fillText(text, Math.max(f.pad + half, x(t)), f.height - 4);
  }
}

/** Draw findings and notes as flags, with a word where it covers no other mark.
 * @param {CanvasRenderingContext2D} ctx @param {Tape} tape @param {(s: number) => number} x
 * @param {number[]} evals pixels of the evaluations */
function flags(ctx, tape, x, evals) {
  ctx.textBaseline = "alphabetic";
  ctx.textAlign = "left";
  const notes = tape.notes
    .filter((n) => n.step !== null)
    .map((n) => ({ step: /** @type {number} */ (n.step), severity: "info", word: brief(n.text) }));
  const findings = tape.findings
    .filter((d) => !d.hidden && d.severity !== "info")
    .map((d) => ({ step: d.step, severity: d.severity, word: short(d) }));
  const all = [...findings, ...notes].sort((a, b) => a.step - b.step);
  const taken = [...evals, ...all.map((flag) => x(flag.step))].sort((a, b) => a - b);
  let free = -Infinity; // where the word before ends
  for (const { step, severity, word } of all) {
    const px = x(step);
    ctx.fillStyle = colors()[severity] ?? "";
    ctx.font = `${severity === "info" ? 400 : 600} 11px ${SANS}`;
    if (severity === "info") ctx.fillRect(px - 1, 1, 2, 12);
    else {
      triangle(ctx, px, 5, 5, 1);
      ctx.fill();
    }
    if (px < free) continue;
    const next = taken.find((other) => other > px + 1) ?? Infinity;
    const text = fitting(word, next - px - 16, (w) => ctx.measureText(w).width);
    ctx.fillText(text, px + 8, 10);
    if (text) free = px + 8 + ctx.measureText(text).width;
  }
}

/** As much of a word as has room; nothing where that would tell nothing.
 * @param {string} word @param {number} room px @param {(text: string) => number} width */
export function fitting(word, room, width) {
  if (width(word) <= room) return word;
  for (let n = word.length - 1; n >= LEAST; n--) {
    const text = `${word.slice(0, n).trimEnd()}…`;
    if (width(text) <= room) return text;
  }
  return "";
}

const LEAST = 4; // characters of a word that was cut

/** The first words of a note, as many as a flag has room for. @param {string} text */
const brief = (text) =>
  (text.length > 22 ? `${text.slice(0, 21).trimEnd()}…` : text).replace(
    /[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/g,
    " ",
  );

/** A word for a finding, from the name of its rule. @param {{rule: string}} finding */
const short = (finding) => {
  const words = finding.rule.split("-");
  return (words[0] === "kl" ? "KL" : words[0] === "non" ? "NaN" : words[0]) ?? "";
};

/** Draw the part that moves: brush, caret with its step, the pointer's step.
 * @param {HTMLCanvasElement} canvas @param {Frame} f
 * @param {{step: number, range: [number, number] | null, hover: number | null}} state */
export function drawOver(canvas, f, { step, range, hover }) {
  const ctx = prepare(canvas, f);
  const x = toX(f);
  if (range) {
    ctx.fillStyle = faint(colors().accent ?? "", 0.13);
    ctx.fillRect(x(range[0]), 0, x(range[1]) - x(range[0]), f.height);
  }
  if (hover !== null && hover >= f.lo && hover <= f.hi) {
    ctx.fillStyle = faint(colors().ink3 ?? "", 0.6);
    ctx.fillRect(Math.round(x(hover)), 0, 1, f.height);
  }
  const px = Math.round(x(Math.max(f.lo, Math.min(f.hi, step))));
  ctx.fillStyle = colors().ink ?? "";
  ctx.fillRect(px, 0, 1, f.height);
  ctx.font = `600 11px ${SANS}`;
  const text = count(step);
  const half = ctx.measureText(text).width / 2 + 5;
  const middle = Math.max(half + 2, Math.min(f.width - half - 2, px));
  ctx.beginPath();
  ctx.roundRect(middle - half, f.height - 15, half * 2, 14, 3);
  ctx.fill();
  ctx.fillStyle = colors().s1 ?? "";
  ctx.textAlign = "center";
  ctx.textBaseline = "alphabetic";
  ctx.fillText(text, middle, f.height - 4);
  canvas.dataset.caret = String(step);
}

/** Draw a sparkline: a line with gaps where a value is missing, and a dot at the end.
 * @param {HTMLCanvasElement} canvas @param {(number | null)[]} values @param {string} color
 * @param {number} width @param {number} height */
export function drawSparkline(canvas, values, color, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const known = /** @type {number[]} */ (values.filter((v) => v !== null));
  if (!known.length) return;
  const [lo, hi] = [Math.min(...known), Math.max(...known)];
  const x = (/** @type {number} */ i) => (2 + ((width - 6) * i) / Math.max(1, values.length - 1)) * ratio;
  const y = (/** @type {number} */ v) =>
    (hi > lo ? height - 3 - ((height - 6) * (v - lo)) / (hi - lo) : height / 2) * ratio;
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.25 * ratio;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let pen = false;
  values.forEach((v, i) => {
    if (v === null) {
      pen = false;
      return;
    }
    if (pen) ctx.lineTo(x(i), y(v));
    else ctx.moveTo(x(i), y(v));
    pen = true;
  });
  ctx.stroke();
  const last = values.findLastIndex((v) => v !== null);
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.arc(x(last), y(/** @type {number} */ (values[last])), 2 * ratio, 0, Math.PI * 2);
  ctx.fill();
}
