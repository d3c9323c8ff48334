/** One metric of two or more groups: who ended where, the curves, and the difference below. */

import { useEffect, useRef } from "preact/hooks";
import { nearest } from "../base/chart/points.js";
import { number, value, worded } from "../base/text/format.js";
import { fullTitle } from "../base/text/metric-names.js";
import { h, html } from "../parts/html.js";
import { theme } from "../prefs.js";
import { cursor } from "../state.js";
import { HEIGHT, draw } from "./draw.js";

/** @typedef {import("./draw.js").Drawing} Drawing */

/** A group's letter in its colour. @param {{letter: string, color: string}} props */
export const Letter = ({ letter, color }) => html`
  <b class="letter" style=${{ "--c": color }}>${letter}</b>
`;

/** @param {{name: string, unit: string, drawing: Drawing, letters: string[],
 *   named: (x: number) => string}} props */
export function CompareCard({ name, unit, drawing, letters, named }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const d = { ...drawing, at: cursor.value };
  useEffect(() => {
    const host = canvas.current;
    if (!host) return;
    const paint = () => draw(host, d, named);
    paint();
    const watch = new ResizeObserver(paint);
    watch.observe(host);
    return () => watch.disconnect();
  }, [drawing, cursor.value, theme.value]);
  const ends = drawing.centre.map((c) => valueAt(drawing.x, c, cursor.value));
  const move = (/** @type {PointerEvent} */ e) => {
    const box = /** @type {HTMLElement} */ (e.currentTarget).getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (e.clientX - box.left - 1) / (box.width - 8)));
    cursor.value = drawing.lo + share * (drawing.hi - drawing.lo);
  };
  const gap = drawing.gap ? valueAt(drawing.x, drawing.gap.centre, cursor.value) : null;
  const once = sharedUnit(ends, unit);
  const { before, leaf } = fullTitle(name);
  return html`
    <section class="card compare-card" data-metric=${name}>
      <header>
        <span class="model">
          ${
            before
              ? html`
                  <span class="ink3">${before}</span>
                `
              : null
          }
          ${" "}
          <b>${leaf}</b>
        </span>
        <span class="ends n">
          ${ends.slice(0, 4).map(
            (v, i) => html`
              <span class="end">
                ${h(Letter, { letter: letters[i] ?? "", color: drawing.colors[i] ?? "" })}${" "}
                <b>${v === null ? "–" : once === null ? worded(v, unit) : value(v, unit).text}</b>
              </span>
            `,
          )}
          <span class="ink3">${once}</span>
        </span>
      </header>
      <canvas
        ref=${canvas}
        style=${{ width: "100%", height: `${HEIGHT}px` }}
        role="img"
        aria-label=${sentence(name, ends, letters, drawing, named)}
        data-ink=${`runs=${drawing.runs.length} groups=${drawing.centre.length}`}
        onPointerMove=${move}
        onPointerLeave=${() => (cursor.value = null)}></canvas>
      ${
        drawing.gap
          ? html`
              <p class="gap-words n">
                <span>B − A${drawing.noise === null ? "" : `, noise ±${number(drawing.noise, 2)}`}</span>
                <b>${gap === null ? "" : `${gap < 0 ? "−" : "+"}${number(Math.abs(gap))}`}</b>
              </p>
            `
          : null
      }
    </section>
  `;
}

/** The unit that all values have, to be said once; null if they have several, such as s and min.
 * @param {(number | null)[]} ends @param {string} unit */
function sharedUnit(ends, unit) {
  const units = new Set(ends.filter((v) => v !== null).map((v) => value(v, unit).unit));
  return units.size === 1 ? [...units][0] : null;
}

/** The value at a place of x, or the last one. @param {ArrayLike<number>} X
 * @param {ArrayLike<number>} Y @param {number | null} x @returns {number | null} */
function valueAt(X, Y, x) {
  let at = x === null ? X.length - 1 : nearest(/** @type {any} */ (X), x);
  while (at >= 0 && Number.isNaN(Y[at])) at--;
  const found = Y[at];
  return found === undefined ? null : found;
}

/** @param {string} name @param {(number | null)[]} ends @param {string[]} letters
 * @param {Drawing} d @param {(x: number) => string} named */
function sentence(name, ends, letters, d, named) {
  const values = ends.map((v, i) => `${letters[i]} ${v === null ? "no data" : number(v)}`).join(", ");
  return `${name}: ${values}; ${d.parts === null ? "they stay together" : `they part at ${named(d.parts)}`}`;
}
