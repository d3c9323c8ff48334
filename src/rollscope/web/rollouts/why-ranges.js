/** Choose a range before and a range after, to explain the change between them. The address has
 * both: "why=20-29,30-39". */

import { useMemo, useState } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { Field } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { go, view } from "../state.js";

/** @typedef {{now: [number, number], before: [number, number]}} Ranges */
const USUAL = 10; // steps of a range, where the tape has no brush

/** The brush, or the last steps, and as many before. @param {number} step @returns {Ranges} */
function usual(step) {
  const brush = view.value.range;
  const [a, b] = brush ? [Math.round(brush[0]), Math.round(brush[1])] : [Math.max(0, step - USUAL + 1), step];
  return { now: [a, b], before: [Math.max(0, a - (b - a) - 1), Math.max(0, a - 1)] };
}

/** The range in a text such as "20-29" or "20"; null if there is none.
 * @param {string} text @returns {[number, number] | null} */
export function rangeIn(text) {
  const match = /^\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?$/.exec(text);
  if (!match) return null;
  const [a, b] = [Number(match[1]), Number(match[2] ?? match[1])];
  return a <= b ? [a, b] : null;
}

/** The ranges in the address, and how to choose others.
 * @returns {[Ranges | null, (ranges: Ranges | null) => void]} */
export function useRanges() {
  const text = useComputed(() => view.value.why).value;
  const ranges = useMemo(() => {
    const [before, now] = text.split(",").map(rangeIn);
    return before && now ? { before, now } : null;
  }, [text]);
  const words = (/** @type {Ranges} */ { before, now }) => `${before.join("-")},${now.join("-")}`;
  return [ranges, (other) => go({ why: other ? words(other) : "" }, "replace")];
}

/** @param {{step: number, ranges: Ranges | null, choose: (ranges: Ranges | null) => void}} props */
export function WhyRanges({ step, ranges, choose }) {
  const [wrong, setWrong] = useState("");
  if (!ranges)
    return html`
      <button class="link small" type="button" onClick=${() => choose(usual(step))}>Compare ranges of steps</button>
    `;
  const change = (/** @type {"now" | "before"} */ side) => (/** @type {string} */ text) => {
    const range = rangeIn(text);
    setWrong(range ? "" : "Write a range as 20-29.");
    if (range) choose({ ...ranges, [side]: range });
  };
  const field = (/** @type {"now" | "before"} */ side, /** @type {string} */ label) =>
    h(Field, { label, value: ranges[side].join("-"), take: change(side) });
  return html`
    <div class="why-ranges n">
      ${field("before", "Steps before")}
      <span aria-hidden="true">→</span>
      ${field("now", "Steps after")}
      <button class="link small" type="button" onClick=${() => choose(null)}>Steps</button>
      ${
        wrong
          ? html`
              <p class="small bad" role="alert">${wrong}</p>
            `
          : null
      }
    </div>
  `;
}
