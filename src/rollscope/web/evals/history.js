/** A score over its evaluations: mean, interval by task, best step; one column per evaluation. */

import { count, number } from "../base/text/format.js";
import { html } from "../parts/html.js";
import { COLUMN } from "./matrix-ink.js";
import { signed, unitOf } from "./words.js";

/** @typedef {import("../wire/types.gen").SetShape} SetShape */

const HEIGHT = 140;

/** @param {{set: SetShape, graded: boolean, before: number, after: number,
 *   plot: {current: SVGSVGElement | null}}} props `plot` is moved as the matrix scrolls */
export function History({ set, graded, before, after, plot }) {
  const at = set.steps.indexOf(after);
  const mean = set.mean[at];
  const half = (Number(set.high[at]) - Number(set.low[at])) / 2;
  return html`
    <section class="eval-history">
      <div class="about">
        <p>
          <b class="model">${set.name}</b>
          ${" "}
          <span class="ink3">${set.score} at step ${count(after)}</span>
        </p>
        <p class="n">
          <b class="large">${mean === null ? "–" : number(/** @type {number} */ (mean))}</b>
          ${set.low[at] === null ? "" : ` ± ${number(half, 2)}`}
        </p>
        <p class="read">${about(set, graded)}</p>
      </div>
      <div class="plot-window">${drawing(set, before, after, plot)}</div>
    </section>
  `;
}

/** @param {SetShape} set @param {boolean} graded */
function about(set, graded) {
  const size = `${count(set.tasks)} tasks × ${count(set.repeats)}`;
  const best =
    set.best === null
      ? ""
      : `Best ${number(/** @type {number} */ (set.mean[set.steps.indexOf(set.best)]))} at step ${count(set.best)}. `;
  if (set.detectable === null) return `${best}Too few tasks to say what this set can show (${size}).`;
  const least = signed(/** @type {number} */ (set.detectable), graded).slice(1);
  const words = graded ? `${least} ${unitOf(true)}` : least;
  return `${best}Differences under ${words} are too small for this set to show (${size}, 80 % power).`;
}

/** @param {SetShape} set @param {number} before @param {number} after
 * @param {{current: SVGSVGElement | null}} plot */
function drawing(set, before, after, plot) {
  const known = set.mean.map((v, i) => ({
    i,
    v: v === null ? NaN : Number(v),
    lo: edge(set.low[i], v),
    hi: edge(set.high[i], v),
  }));
  const points = known.filter((p) => !Number.isNaN(p.v));
  if (!points.length) return null;
  const [lo, hi] = [Math.min(...points.map((p) => p.lo)), Math.max(...points.map((p) => p.hi))];
  const y = (/** @type {number} */ v) => 16 + (HEIGHT - 34) * (hi > lo ? (hi - v) / (hi - lo) : 0.5);
  const x = (/** @type {number} */ i) => i * COLUMN + COLUMN / 2;
  const line = points.map((p, n) => `${n ? "L" : "M"}${x(p.i)} ${y(p.v)}`).join("");
  const band = `${points.map((p, n) => `${n ? "L" : "M"}${x(p.i)} ${y(p.hi)}`).join("")}${points
    .toReversed()
    .map((p) => `L${x(p.i)} ${y(p.lo)}`)
    .join("")}Z`;
  const best = points.find((p) => set.steps[p.i] === set.best);
  const width = set.steps.length * COLUMN;
  const span = `from ${number(points[0]?.v)} to ${number(points.at(-1)?.v)}`;
  const label = `${set.score} of ${set.name} over ${points.length} evaluations, ${span}`;
  return html`
    <div class="tick-words n" aria-hidden="true">
      ${ticks(lo, hi).map(
        (v) => html`
          <span style=${{ top: `${y(v) - 15}px` }}>${number(v, 2)}</span>
        `,
      )}
    </div>
    <svg width=${width} height=${HEIGHT} ref=${plot} role="img" aria-label=${label}>
      ${[before, after].map((s) => {
        const i = set.steps.indexOf(s);
        return i < 0
          ? null
          : html`
              <rect class="picked" x=${i * COLUMN} y="0" width=${COLUMN} height=${HEIGHT} />
            `;
      })}
      ${ticks(lo, hi).map(
        (v) => html`
          <line class="grid" x1="0" x2=${width} y1=${y(v)} y2=${y(v)} />
        `,
      )}
      <path class="band" d=${band} />
      <path class="line" d=${line} />
      ${points.map(
        (p) => html`
          <rect
            class="dot"
            x=${x(p.i) - 2.5}
            y=${y(p.v) - 2.5}
            width="5"
            height="5"
            transform=${`rotate(45 ${x(p.i)} ${y(p.v)})`} />
        `,
      )}
      ${
        best
          ? html`
              <text x=${Math.min(width - 34, Math.max(34, x(best.i)))} y="11" text-anchor="middle">
                best ${number(best.v)}
              </text>
            `
          : null
      }
    </svg>
  `;
}

/** An end of an interval, or the mean where there is none. @param {any} end @param {any} mean */
const edge = (end, mean) => (end === null ? Number(mean) : Number(end));

/** @param {number} lo @param {number} hi */
const ticks = (lo, hi) => [0.25, 0.5, 0.75].map((f) => lo + f * (hi - lo));
