/** Three groups or more: each against A on an evaluation, with its interval. */

import { signed, unitOf } from "../evals/words.js";
import { h, html } from "../parts/html.js";
import { Letter } from "./card.js";

/** @typedef {import("../wire/types.gen").ComparisonShape} ComparisonShape */
/** @typedef {import("../wire/types.gen").OutcomeShape} OutcomeShape */

/** @param {{found: ComparisonShape, colors: string[]}} props */
export function Against({ found, colors }) {
  const set = found.outcomes[0]?.name;
  const list = found.outcomes.filter((o) => o.name === set);
  if (found.groups.length < 3 || !list.length) return null;
  const far = Math.max(
    ...list.flatMap((o) => [o.low, o.high, o.difference]).map((v) => Math.abs(Number(v ?? 0))),
    1e-12,
  );
  return html`
    <section class="card against">
      <h2>
        Against A${" "}
        <span class="ink3 model">${set}</span>
      </h2>
      <table class="table n">
        <tbody>${list.map((o) => row(o, far, found, colors))}</tbody>
      </table>
    </section>
  `;
}

/** @param {OutcomeShape} o @param {number} far @param {ComparisonShape} found
 * @param {string[]} colors */
function row(o, far, found, colors) {
  const at = found.groups.findIndex((g) => g.letter === o.letter);
  const x = (/** @type {any} */ v) => 60 + (54 * Number(v)) / far;
  const sure = o.low !== null && (Number(o.low) > 0 || Number(o.high) < 0);
  const text = (/** @type {any} */ v) => (v === null ? "–" : signed(Number(v), o.graded));
  const span = html`
    <line class="span" x1=${x(o.low)} x2=${x(o.high)} y1="10" y2="10" />
  `;
  return html`
    <tr class=${sure ? "sure" : ""}>
      <td>
        ${h(Letter, { letter: o.letter, color: colors[at] ?? "" })}${" "}
        <span class="model">${found.groups[at]?.name}</span>
      </td>
      <td class="num">
        <b>${text(o.difference)}</b>
        ${" "}
        <span class="ink3">${o.low === null ? "" : `${text(o.low)} to ${text(o.high)}`}</span>
      </td>
      <td>
        <svg class="forest" viewBox="0 0 120 20" role="img" aria-label=${`${text(o.difference)} ${unitOf(o.graded)}`}>
          <line class="zero" x1="60" x2="60" y1="0" y2="20" />
          ${o.low === null ? null : span}
          <circle cx=${x(o.difference ?? 0)} cy="10" r="3.5" />
        </svg>
      </td>
    </tr>
  `;
}
