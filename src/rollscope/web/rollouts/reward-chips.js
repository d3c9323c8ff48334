/** Reward chips: one square per sample, best to worst, coloured by the declared range. A diagonal
 * marks a dropped sample. */

import { useEffect, useRef } from "preact/hooks";
import { REWARD } from "../base/chart/color.js";
import { number } from "../base/text/format.js";
import { DROPPED, fateOf, num, rangeOf, textOf } from "../base/samples/step-samples.js";
import { spelled } from "../base/text/model-text.js";
import { h, html } from "../parts/html.js";
import { theme } from "../prefs.js";

/** @typedef {import("../base/samples/step-samples.js").Step} Step */
/** @typedef {{step: Step, members: number[], on?: number[], pick?: (i: number,
 *   event: MouseEvent) => void}} Props */

/** The index of a reward's colour, 0 to 6, or -1 without a reward.
 * @param {number} v @param {number} lo @param {number} hi */
export const shade = (v, lo, hi) =>
  Number.isNaN(v) ? -1 : Math.max(0, Math.min(6, Math.floor((hi > lo ? (v - lo) / (hi - lo) : 0.5) * 7)));
/** A reward with two decimals, so that a column of them lines up. @param {number} v */
export const score = (v) =>
  Number.isNaN(v) ? "–" : Math.abs(v) >= 100 ? number(v) : v.toFixed(2).replace("-", "\u2212");
/** The class of a colour index. @param {number} s */
export const ramp = (s) => (s < 0 ? "r none" : `r r${s}`);
const MANY = 34; // more chips than this are drawn on a canvas

/** @param {Props} props */
export const Chips = (props) => (props.members.length > MANY ? h(Wide, props) : h(Few, props));

/** @param {Props} props */
function Few({ step, members, on = [], pick }) {
  const act =
    pick &&
    ((/** @type {MouseEvent} */ e) => {
      const i = Number(/** @type {HTMLElement} */ (e.target).dataset.i ?? NaN);
      if (!Number.isNaN(i)) {
        e.stopPropagation();
        pick(i, e);
      }
    });
  return html`
    <span class=${members.length > 16 ? "chips small" : "chips"} onClick=${act}>
      ${members.map((i) => {
        const v = num(step, "reward", i);
        const dropped = fateOf(step, i) === DROPPED;
        const reason = textOf(step, "discard_reason", i);
        const fate = dropped ? `, dropped${reason ? `, ${reason}` : ""}` : "";
        return html`
          <i
            class=${`${ramp(shade(v, ...rangeOf(step, i)))}${dropped ? " dropped" : ""}${on.includes(i) ? " on" : ""}`}
            data-i=${i}
            title=${spelled(`${step.ids[i]}: ${number(Number.isNaN(v) ? null : v)}${fate}`)}></i>
        `;
      })}
    </span>
  `;
}

/** Many chips: one canvas with a column per sample. @param {Props} props */
function Wide({ step, members, pick }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  useEffect(() => {
    const ctx = canvas.current?.getContext("2d");
    if (!ctx || !canvas.current) return;
    const width = (canvas.current.width = members.length);
    canvas.current.height = 1;
    for (let k = 0; k < width; k++) {
      const i = /** @type {number} */ (members[k]);
      const s = shade(num(step, "reward", i), ...rangeOf(step, i));
      ctx.fillStyle = s < 0 ? "transparent" : /** @type {string} */ (REWARD[theme.value][s]);
      ctx.fillRect(k, 0, 1, 1);
    }
  }, [step, members, theme.value]);
  const act = (/** @type {MouseEvent} */ e) => {
    const at = members[Math.floor((e.offsetX / /** @type {HTMLElement} */ (e.target).offsetWidth) * members.length)];
    if (pick && at !== undefined) {
      e.stopPropagation();
      pick(at, e);
    }
  };
  return html`
    <canvas
      class="chips wide"
      ref=${canvas}
      onClick=${act}
      title=${`${members.length} samples, best to worst`}></canvas>
  `;
}
