/** How many hits each step has, on the tape's x; a press opens the newest of a step. */

import { useEffect, useRef } from "preact/hooks";
import { cells, hit } from "../../base/samples/visit-strip.js";
import { count, plural } from "../../base/text/format.js";
import { colors } from "../../charts/theme-colors.js";
import { html } from "../../parts/html.js";
import { theme } from "../../prefs.js";

const [WIDTH, HEIGHT] = [276, 22];

/** Steps and how many hits each has, ascending.
 * @param {{step: number | null}[]} hits @returns {{steps: number[], counts: number[]}} */
export function perStep(hits) {
  /** @type {Map<number, number>} */
  const found = new Map();
  for (const { step } of hits) if (step !== null) found.set(step, (found.get(step) ?? 0) + 1);
  const steps = [...found.keys()].sort((a, b) => a - b);
  return { steps, counts: steps.map((step) => found.get(step) ?? 0) };
}

/** @param {{hits: {step: number | null}[], first: number, last: number,
 *   open: (step: number) => void}} props */
export function HitStrip({ hits, first, last, open }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const { steps, counts } = perStep(hits);
  const bars = cells(steps, counts, counts, { first, last, width: WIDTH, height: HEIGHT });
  useEffect(() => {
    if (canvas.current) draw(canvas.current, bars, colors().accent ?? "");
  }, [hits.length, first, last, theme.value]);
  if (!steps.length) return null;
  const under = (/** @type {any} */ e) => hit(bars, (e.offsetX * WIDTH) / e.currentTarget.clientWidth, 12);
  const [from, to] = [count(steps[0] ?? 0), count(steps[steps.length - 1] ?? 0)];
  const words = `${plural(hits.length, "hit")} at ${plural(steps.length, "step")}, from ${from} to ${to}`;
  return html`
    <canvas
      class="strip hits"
      ref=${canvas}
      role="img"
      aria-label=${words}
      title=${words}
      data-ink=${`steps=${steps.length} hits=${hits.length}`}
      onMouseMove=${(/** @type {any} */ e) => {
        const cell = under(e);
        const n = cell ? (counts[steps.indexOf(cell.step)] ?? 0) : 0;
        e.currentTarget.title = cell ? `step ${count(cell.step)}: ${plural(n, "hit")}` : words;
      }}
      onClick=${(/** @type {any} */ e) => {
        const cell = under(e);
        if (cell) open(cell.step);
      }}></canvas>
  `;
}

/** @param {HTMLCanvasElement} canvas @param {string} ink
 * @param {import("../../base/samples/visit-strip.js").Cell[]} bars */
function draw(canvas, bars, ink) {
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [WIDTH * ratio, HEIGHT * ratio];
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  ctx.scale(ratio, ratio);
  ctx.fillStyle = ink;
  for (const bar of bars) ctx.fillRect(bar.x, HEIGHT - bar.height, Math.max(1, bar.width - 1), bar.height);
}
