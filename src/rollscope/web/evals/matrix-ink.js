/** Ink of the matrix: the rows in view on one canvas, a chip per task and step. */

import { REWARD } from "../base/chart/color.js";
import { changeOf, failedOf, meanOf } from "../base/evals/task-rows.js";
import { spelled } from "../base/text/model-text.js";
import { SANS, colors } from "../charts/theme-colors.js";
import { theme } from "../prefs.js";
import { changed, shadeOf } from "./words.js";

/** @typedef {import("../base/evals/task-rows.js").Matrix} Matrix */
/** @typedef {{m: Matrix, rows: number[], before: number, after: number, at: number, over: number,
 *   seen: Set<string>, ends: [number, number]}} Shown what to draw; steps are numbers of columns */
/** @typedef {{left: number, top: number, width: number, height: number, name: number}} Box */

export const COLUMN = 30;
export const ROW = 24;
export const CHANGE = 50;
const CHIP = { width: 20, height: 14, x: 5, y: 5, radius: 3 };
const PAD = { left: 20, right: 8 };
const MONO = '"Plex Mono", ui-monospace, monospace';
const FALL = { light: "#B3470B", dark: "#F0884A" };
const TRAINED = "trained on";

/** Where the column of changes begins: after the last step, or at the right edge.
 * @param {Box} box @param {Matrix} m */
export const changeAt = (box, m) =>
  Math.max(box.name, Math.min(box.width - CHANGE, box.name + m.steps.length * COLUMN - box.left));

/** @param {HTMLCanvasElement} canvas @param {Box} box @param {Shown} shown */
export function draw(canvas, box, shown) {
  const ink = sized(canvas, box);
  if (!ink) return;
  const first = Math.floor(box.top / ROW);
  const last = Math.min(shown.rows.length, Math.ceil((box.top + box.height) / ROW));
  grounds(ink, box, shown, first, last);
  ink.save();
  ink.beginPath();
  ink.rect(box.name, 0, changeAt(box, shown.m) - box.name, box.height);
  ink.clip();
  cells(ink, box, shown, first, last);
  ink.restore();
  for (let i = first; i < last; i++) words(ink, box, shown, i);
  canvas.dataset.rows = `${first}-${last}`;
}

/** The canvas at the size of its box, empty. @param {HTMLCanvasElement} canvas @param {Box} box */
function sized(canvas, box) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [Math.round(box.width * ratio), Math.round(box.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    [canvas.width, canvas.height] = [width, height];
    Object.assign(canvas.style, { width: `${box.width}px`, height: `${box.height}px` });
  }
  const ink = canvas.getContext("2d");
  ink?.setTransform(ratio, 0, 0, ratio, 0, 0);
  ink?.clearRect(0, 0, box.width, box.height);
  return ink;
}

/** Row lines, the two compared steps as bands, the row that is open or under the pointer.
 * @param {CanvasRenderingContext2D} ink @param {Box} box @param {Shown} shown
 * @param {number} first @param {number} last */
function grounds(ink, box, { m, rows, before, after, at, over }, first, last) {
  const tokens = colors();
  const end = changeAt(box, m);
  const bottom = Math.min(box.height, last * ROW - box.top);
  const tags = [];
  for (let i = first; i < last; i++) if ((rows[i] ?? 0) >= (m.real ?? Infinity)) tags.push(i);
  for (const i of new Set([over, at, ...tags])) {
    if (i < first || i >= last) continue;
    ink.fillStyle = tokens.s1 ?? "";
    ink.fillRect(0, i * ROW - box.top, box.width, ROW);
  }
  ink.fillStyle = tokens["accent-soft"] ?? "";
  for (const column of new Set([before, after])) {
    const x = box.name + column * COLUMN - box.left;
    const [from, to] = [Math.max(box.name, x), Math.min(end, x + COLUMN)];
    if (column >= 0 && to > from) ink.fillRect(from, 0, to - from, bottom);
  }
  ink.fillStyle = tokens.grid ?? "";
  for (let i = first; i < last; i++) ink.fillRect(0, (i + 1) * ROW - 1 - box.top, end + CHANGE, 1);
  if (at < first || at >= last) return;
  ink.fillStyle = tokens.accent ?? "";
  ink.fillRect(0, at * ROW - box.top, 3, ROW);
}

/** Chips in view: one path per colour.
 * @param {CanvasRenderingContext2D} ink @param {Box} box @param {Shown} shown
 * @param {number} first @param {number} last */
function cells(ink, box, { m, rows, before, after, at, ends: [lo, hi] }, first, last) {
  const from = Math.max(0, Math.floor(box.left / COLUMN));
  const to = Math.min(m.steps.length, Math.ceil((box.left + changeAt(box, m) - box.name) / COLUMN));
  const shades = Array.from({ length: 7 }, () => new Path2D());
  const [absent, failed, on] = [new Path2D(), new Path2D(), new Path2D()];
  /** @type {[string, number, number][]} */
  const counts = [];
  for (let i = first; i < last; i++) {
    const t = /** @type {number} */ (rows[i]);
    const y = i * ROW - box.top + CHIP.y;
    for (let column = from; column < to; column++) {
      const x = box.name + column * COLUMN - box.left + CHIP.x;
      const v = meanOf(m, t, column);
      const bad = failedOf(m, t, column);
      const shade = shadeOf(v, lo, hi);
      if (shade >= 0) chip(/** @type {Path2D} */ (shades[shade]), x, y);
      else if (bad) chip(failed, x, y);
      else absent.roundRect(x + 0.5, y + 0.5, CHIP.width - 1, CHIP.height - 1, CHIP.radius);
      if (bad) counts.push([String(bad), x + CHIP.width / 2, y + CHIP.height / 2]);
      if (i === at && (column === before || column === after))
        on.roundRect(x - 2, y - 2, CHIP.width + 4, CHIP.height + 4, CHIP.radius + 2);
    }
  }
  fill(ink, shades, absent, failed, on);
  failures(ink, counts);
}

/** @param {Path2D} path @param {number} x @param {number} y */
const chip = (path, x, y) => path.roundRect(x, y, CHIP.width, CHIP.height, CHIP.radius);

/** @param {CanvasRenderingContext2D} ink @param {Path2D[]} shades @param {Path2D} absent
 * @param {Path2D} failed @param {Path2D} on */
function fill(ink, shades, absent, failed, on) {
  const tokens = colors();
  shades.forEach((path, shade) => {
    ink.fillStyle = /** @type {string} */ (REWARD[theme.value][shade]);
    ink.fill(path);
  });
  ink.fillStyle = hatch(ink, tokens.bad ?? "") ?? "";
  ink.fill(failed);
  ink.strokeStyle = tokens.line ?? "";
  ink.lineWidth = 1;
  ink.setLineDash([2, 2]);
  ink.stroke(absent);
  ink.setLineDash([]);
  ink.strokeStyle = tokens.accent ?? "";
  ink.lineWidth = 2;
  ink.stroke(on);
}

/** @type {Map<string, CanvasPattern | null>} */
const hatches = new Map();

/** Slanted lines of a colour. @param {CanvasRenderingContext2D} ink @param {string} color */
function hatch(ink, color) {
  if (hatches.has(color)) return hatches.get(color);
  const cell = document.createElement("canvas");
  [cell.width, cell.height] = [6, 6];
  const pen = /** @type {CanvasRenderingContext2D} */ (cell.getContext("2d"));
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  for (const x of [-6, 0, 6]) {
    pen.moveTo(x, 6);
    pen.lineTo(x + 6, 0);
  }
  pen.stroke();
  hatches.set(color, ink.createPattern(cell, "repeat"));
  return hatches.get(color);
}

/** How many repeats failed, on a halo. @param {CanvasRenderingContext2D} ink
 * @param {[string, number, number][]} counts */
function failures(ink, counts) {
  const tokens = colors();
  ink.font = `700 10px ${SANS}`;
  ink.textAlign = "center";
  ink.textBaseline = "middle";
  ink.lineWidth = 3;
  ink.strokeStyle = tokens.bg ?? "";
  ink.fillStyle = tokens.ink ?? "";
  for (const [text, x, y] of counts) {
    ink.strokeText(text, x, y);
    ink.fillText(text, x, y);
  }
}

/** The id, the beginning of the prompt, and the change of one row.
 * @param {CanvasRenderingContext2D} ink @param {Box} box @param {Shown} shown @param {number} i */
function words(ink, box, { m, rows, before, after, seen }, i) {
  const tokens = colors();
  const t = /** @type {number} */ (rows[i]);
  const y = i * ROW - box.top + ROW / 2;
  const [id, label] = [m.tasks[t] ?? "", m.labels[t] ?? ""];
  ink.textBaseline = "middle";
  ink.textAlign = "left";
  let x = PAD.left;
  if (seen.has(id)) x += trained(ink, x, y);
  const end = box.name - PAD.right;
  const isTag = t >= (m.real ?? Infinity);
  x +=
    8 +
    text(
      ink,
      isTag ? `600 12px ${SANS}` : `400 12px ${MONO}`,
      (isTag ? tokens.ink : tokens.ink3) ?? "",
      id,
      x,
      y,
      end - x,
    );
  if (end - x > 12) text(ink, `400 12px ${SANS}`, (isTag ? tokens.ink3 : tokens.ink) ?? "", label, x, y, end - x);
  const change = changeOf(m, t, before, after);
  ink.font = `400 12px ${SANS}`;
  ink.textAlign = "right";
  ink.fillStyle = (change < 0 ? FALL[theme.value] : change > 0 ? tokens.info : tokens.ink3) ?? "";
  ink.fillText(Number.isNaN(change) ? "–" : changed(change), changeAt(box, m) + CHANGE - PAD.right, y);
}

/** The mark of a task that training has seen; returns its width.
 * @param {CanvasRenderingContext2D} ink @param {number} x @param {number} y */
function trained(ink, x, y) {
  const tokens = colors();
  ink.font = `600 11px ${SANS}`;
  const width = ink.measureText(TRAINED).width + 8;
  ink.fillStyle = tokens["watch-soft"] ?? "";
  ink.beginPath();
  ink.roundRect(x, y - 8, width, 16, 3);
  ink.fill();
  ink.fillStyle = tokens.watch ?? "";
  ink.fillText(TRAINED, x + 4, y);
  return width + 6;
}

/** @type {Map<string, [string, number]>} */
const fitted = new Map();

/** Write a text, cut to a width; returns how wide it is.
 * @param {CanvasRenderingContext2D} ink @param {string} font @param {string} color
 * @param {string} raw @param {number} x @param {number} y @param {number} most */
function text(ink, font, color, raw, x, y, most) {
  ink.font = font;
  const key = `${font}\n${Math.round(most)}\n${raw}`;
  let known = fitted.get(key);
  if (!known) {
    if (fitted.size > 20_000) fitted.clear();
    known = cut(ink, spelled(raw).replace(/\s+/g, " "), most);
    fitted.set(key, known);
  }
  ink.fillStyle = color;
  ink.fillText(known[0], x, y);
  return known[1];
}

/** Forget the widths of texts: call it when a font has loaded. */
export const forget = () => fitted.clear();

/** @param {CanvasRenderingContext2D} ink @param {string} line @param {number} most
 * @returns {[string, number]} */
function cut(ink, line, most) {
  const whole = ink.measureText(line).width;
  if (whole <= most) return [line, whole];
  let [low, high] = [0, line.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (ink.measureText(`${line.slice(0, middle)}…`).width <= most) low = middle;
    else high = middle - 1;
  }
  return [`${line.slice(0, low)}…`, most];
}
