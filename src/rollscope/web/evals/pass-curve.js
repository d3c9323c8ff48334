/** The curve of pass@k of a set at two steps: the chance that one of k answers is right. */

import { count, number } from "../base/text/format.js";
import { html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { part } from "../wire/api.js";

const [WIDTH, HEIGHT, PAD] = [220, 96, 18];

/** @param {{path: string, set: string, score: string, before: number, after: number}} props */
export function PassCurve({ path, set, score, before, after }) {
  const asked = `set=${part(set)}${score}&before=${before}&after=${after}`;
  const [answer] = useAnswer(set ? `${path}/pair?${asked}` : "");
  const pair = /** @type {import("../wire/types.gen").PairShape | null} */ (answer);
  const [old, now] = [pair?.pass_before ?? [], pair?.pass_after ?? []].map((list) => list.map(Number));
  if (!old || !now || now.length < 2) return null;
  const both = before === after ? [now] : [old, now];
  const [low, high] = [Math.min(...both.flat()), Math.max(...both.flat())];
  const most = Math.max(...both.map((list) => list.length));
  const x = (/** @type {number} */ i) => PAD + ((WIDTH - 3 * PAD) * i) / Math.max(1, most - 1);
  const y = (/** @type {number} */ v) => PAD / 2 + (HEIGHT - 2 * PAD) * (high > low ? (high - v) / (high - low) : 0.5);
  const line = (/** @type {number[]} */ list) => list.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("");
  const says = sentence(both, before, after);
  return html`
    <section class="pass-curve">
      <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${says}>
        ${before === after ? null : curve(line(old), old, before, x, y, "old")}
        ${curve(line(now), now, after, x, y, "now")}
        ${now.map(
          (_, i) => html`
            <text x=${x(i)} y=${HEIGHT - 3} text-anchor="middle">${i ? i + 1 : "k = 1"}</text>
          `,
        )}
      </svg>
      <p class="read">
        <b>
          pass@k, all of ${" "}
          <span class="model">${set}</span>
        </b>
        <br />
        ${says}
      </p>
    </section>
  `;
}

/** @param {string} path @param {number[]} list @param {number} step
 * @param {(i: number) => number} x @param {(v: number) => number} y @param {string} look */
const curve = (path, list, step, x, y, look) => html`
  <path class=${look} d=${path} />
  ${list.map(
    (v, i) => html`
      <circle class=${look} cx=${x(i)} cy=${y(v)} r="2.5" />
    `,
  )}
  <text class=${look} x=${x(list.length - 1) + 6} y=${y(list.at(-1) ?? 0) + 4}>${count(step)}</text>
`;

/** @param {number[][]} both @param {number} before @param {number} after */
function sentence(both, before, after) {
  const [first, last] = [both[0] ?? [], both.at(-1) ?? []];
  const k = Math.min(first.length, last.length);
  const at = (/** @type {number} */ i) =>
    before === after
      ? `pass@${i + 1} is ${number(last[i] ?? NaN)}`
      : `pass@${i + 1} went from ${number(first[i] ?? NaN)} to ${number(last[i] ?? NaN)}`;
  const steps = before === after ? `At step ${count(after)}` : `From step ${count(before)} to ${count(after)}`;
  return `${steps}, ${at(0)} and ${at(k - 1)}.`;
}
