/** The last steps of a run above its machines: a thin row for each part, such as trainer and
 * inference, and what it did. A click opens the Timeline at that step. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { unpack } from "../base/chart/points.js";
import { kind } from "../base/chart/color.js";
import { count } from "../base/text/format.js";
import { SANS, colors } from "../charts/theme-colors.js";
import { theme } from "../prefs.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { go, step, view } from "../state.js";
import { columns, part } from "../wire/api.js";

/** @typedef {import("./loading.js").Index} Index */
/** Places of steps, and seconds.
 * @typedef {{from: number, to: number, lo: number, hi: number}} Stretch */
/** @typedef {{start: Float64Array, end: Float64Array, track: Uint32Array, name: Uint32Array,
 *   flags: Uint8Array}} Spans */

const STEPS = 12;
/** The width of the names, as of the hosts below. @param {number} width of the page */
const gutter = (width) => (width < 600 ? 84 : 136);
const TOP = 18; // numbers of steps
const ROW = 13;
const BAR = 10;
const WAIT = 1;

/** @param {{live: number}} props */
export function SpanStrip({ live }) {
  const run = view.value.run;
  const [index, error] = useAnswer(`runs/${part(run)}/timeline`, live);
  if (!index && !error)
    return html`
      <div class="span-strip"></div>
    `;
  const shown = index?.steps.length ? lastSteps(index, step.value) : null;
  return shown ? h(Strip, { run, index, shown, parts: partsOf(index) }) : null;
}

/** The steps up to the caret. @param {Index} index @param {number} caret @returns {Stretch} */
function lastSteps(index, caret) {
  const after = index.steps.findIndex((n) => n > caret);
  const to = Math.max(0, (after < 0 ? index.steps.length : after) - 1);
  const from = Math.max(0, to + 1 - STEPS);
  return { from, to, lo: index.starts[from] ?? 0, hi: index.ends[to] ?? index.seconds };
}

/** The first words of the lanes, in the order of the lanes. @param {Index} index */
const partsOf = (index) => [...new Set(index.tracks.map(partOf))];

/** @param {{lane: string}} track */
const partOf = ({ lane }) => lane.split("/")[0] ?? lane;

/** @param {{run: string, index: Index, shown: Stretch, parts: string[]}} props */
function Strip({ run, index, shown, parts }) {
  const spans = useSpans(run, shown);
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const dark = theme.value;
  const paintAll = () => canvas.current && spans && draw(canvas.current, index, shown, parts, spans);
  useLayoutEffect(() => {
    const sizes = new ResizeObserver(paintAll);
    if (canvas.current) sizes.observe(canvas.current);
    return () => sizes.disconnect();
  }, [spans, dark]);
  const [first, last] = [index.steps[shown.from] ?? 0, index.steps[shown.to] ?? 0];
  return html`
    <button
      class="span-strip"
      type="button"
      aria-label=${`What ${parts.join(", ")} did in steps ${count(first)} to ${count(last)}: open the Timeline`}
      onClick=${(/** @type {MouseEvent} */ e) => go({ page: "timeline", step: stepAt(e, index, shown), view: "" })}>
      <canvas ref=${canvas} style=${`height: ${TOP + parts.length * ROW}px`}></canvas>
    </button>
  `;
}

/** Spans of the stretch; null until they are here. @param {string} run @param {Stretch} shown
 * @returns {Spans | null} */
function useSpans(run, { lo, hi }) {
  const [spans, setSpans] = useState(/** @type {Spans | null} */ (null));
  useLayoutEffect(() => {
    const abort = new AbortController();
    const path = `runs/${part(run)}/timeline/spans?lo=${lo}&hi=${hi}&pixels=1200`;
    columns(path, abort.signal)
      .then((reply) => setSpans(/** @type {any} */ (unpack(reply).columns)))
      .catch(() => {}); // the table below says it when the server is gone
    return () => abort.abort();
  }, [run, lo, hi]);
  return spans;
}

/** The step under the pointer; from the keyboard the last one. @param {MouseEvent} e
 * @param {Index} index @param {Stretch} shown */
function stepAt(e, index, { from, to, lo, hi }) {
  const box = /** @type {HTMLElement} */ (e.currentTarget).getBoundingClientRect();
  const left = gutter(box.width);
  const share = e.detail ? (e.clientX - box.left - left) / (box.width - left) : 1;
  const moment = lo + share * (hi - lo);
  for (let i = from; i < to; i++) if (moment < /** @type {number} */ (index.ends[i])) return index.steps[i] ?? 0;
  return index.steps[to] ?? 0;
}

/** @param {HTMLCanvasElement} canvas @param {Index} index @param {Stretch} shown
 * @param {string[]} parts @param {Spans} spans */
function draw(canvas, index, shown, parts, spans) {
  const [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1];
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const ink = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ink.scale(ratio, ratio);
  const left = gutter(width);
  const x = (/** @type {number} */ t) => left + ((t - shown.lo) / (shown.hi - shown.lo)) * (width - left);
  bars(ink, index, shown, parts, spans, x);
  hairlines(ink, index, shown, x, height);
  ink.font = `11px ${SANS}`;
  ink.fillStyle = colors().ink3 ?? "#888";
  parts.forEach((name, i) => ink.fillText(name, 0, TOP + i * ROW + BAR - 1, left - 8));
  canvas.dataset.ink = `parts=${parts.length} steps=${shown.to - shown.from + 1} spans=${spans.start.length}`;
}

/** @param {CanvasRenderingContext2D} ink @param {Index} index @param {Stretch} shown
 * @param {string[]} parts @param {Spans} spans @param {(t: number) => number} x */
function bars(ink, index, shown, parts, spans, x) {
  const rowOf = index.tracks.map((track) => parts.indexOf(partOf(track)));
  const colourOf = index.names.map((name) => kind(name, theme.peek()));
  for (let i = 0; i < spans.start.length; i++) {
    const waits = /** @type {number} */ (spans.flags[i]) & WAIT;
    const from = Math.max(x(shown.lo), x(/** @type {number} */ (spans.start[i])));
    const wide = Math.max(1, x(/** @type {number} */ (spans.end[i])) - from);
    ink.globalAlpha = waits ? 0.18 : 0.6;
    ink.fillStyle = waits ? (colors().ink3 ?? "#888") : (colourOf[/** @type {number} */ (spans.name[i])] ?? "#888");
    ink.fillRect(from, TOP + (rowOf[/** @type {number} */ (spans.track[i])] ?? 0) * ROW, wide, BAR);
  }
  ink.globalAlpha = 1;
}

/** Where steps begin, with their numbers where there is room. @param {CanvasRenderingContext2D} ink
 * @param {Index} index @param {Stretch} shown @param {(t: number) => number} x
 * @param {number} height */
function hairlines(ink, index, { from, to }, x, height) {
  const c = colors();
  ink.font = `11px ${SANS}`;
  for (let i = from, free = 0; i <= to; i++) {
    const at = Math.round(x(/** @type {number} */ (index.starts[i])));
    ink.fillStyle = c.line ?? "#888";
    ink.fillRect(at, 0, 1, height);
    const label = `${i === from ? "step " : ""}${count(/** @type {number} */ (index.steps[i]))}`;
    if (at < free) continue;
    ink.fillStyle = c.ink3 ?? "#888";
    ink.fillText(label, at + 4, 11);
    free = at + ink.measureText(label).width + 12;
  }
}
