/** Which change mattered: the effect of every changed setting, as a forest plot. */

import { number, plural } from "../base/text/format.js";
import { signed, unitOf } from "../evals/words.js";
import { html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { go, view } from "../state.js";
import { query } from "./loading.js";

/** @typedef {import("../wire/types.gen").FactorList} FactorList */
/** @typedef {import("../wire/types.gen").FactorShape} FactorShape */

const MOST = 12;

/** @param {{ids: string[], options: string[]}} props */
export function Factors({ ids, options }) {
  const on = options.includes(view.value.name) ? view.value.name : (options[0] ?? "");
  const [answer, error] = useAnswer(on ? `compare/factors?${query(ids, "")}&on=${encodeURIComponent(on)}` : "");
  if (!on) return null;
  const found = /** @type {FactorList | null} */ (answer);
  return html`
    <section class="card factors">
      <h2>
        Which change mattered${" "}
        <select
          class="field"
          aria-label="Effect on"
          value=${on}
          onChange=${(/** @type {any} */ e) => go({ name: e.target.value }, "replace")}>
          ${options.map(
            (o) => html`
              <option value=${o} selected=${o === on}>${o}</option>
            `,
          )}
        </select>
      </h2>
      ${
        error
          ? html`
              <p class="ink2">${error}</p>
            `
          : found
            ? table(found)
            : null
      }
    </section>
  `;
}

/** @param {FactorList} found */
function table(found) {
  if (!found.factors.length)
    return html`
      <p class="ink2">${found.says}</p>
    `;
  const list = found.factors.slice(0, MOST);
  const ends = list
    .flatMap((f) => [f.low, f.high, f.effect])
    .filter((v) => v !== null)
    .map(Number);
  const far = Math.max(...ends.map(Math.abs), 1e-12);
  const mixed = list.filter((f) => f.confounded.length);
  return html`
    <table class="table n">
      <thead>
        <tr>
          <th>Factor</th>
          <th class="num">Effect, 95 %</th>
          <th></th>
          <th class="num" title="runs with the change, and without it">With, without</th>
        </tr>
      </thead>
      <tbody>${list.map((f) => row(f, far, found.graded))}</tbody>
    </table>
    <p class="ink3">
      ${`Over ${plural(found.runs, "run")} of the project, by least squares${found.graded ? ", in points" : ""}. `}
      ${mixed.map((f) => `${f.factor} cannot be told from ${f.confounded.join(", ")}. `).join("")}
    </p>
  `;
}

/** @param {FactorShape} f @param {number} far @param {boolean} graded */
function row(f, far, graded) {
  const x = (/** @type {any} */ v) => 60 + (54 * Number(v)) / far;
  const sure = f.low !== null && (Number(f.low) > 0 || Number(f.high) < 0);
  const text = (/** @type {any} */ v) => (v === null ? "–" : signed(Number(v), graded));
  return html`
    <tr class=${sure ? "sure" : ""}>
      <td>
        <b class="model">${f.factor}</b>
        <br />
        <span class="ink3 model">${short(f.usual)} → ${short(f.other)}</span>
      </td>
      <td class="num">
        <b>${text(f.effect)}</b>
        <br />
        <span class="ink3">${f.low === null ? "no repeats" : `${text(f.low)} to ${text(f.high)}`}</span>
      </td>
      <td>
        <svg
          class="forest"
          viewBox="0 0 120 20"
          role="img"
          aria-label=${`${f.factor}: ${text(f.effect)} ${unitOf(graded)}`}>
          <line class="zero" x1="60" x2="60" y1="0" y2="20" />
          ${
            f.low === null
              ? null
              : html`
                  <line class="span" x1=${x(f.low)} x2=${x(f.high)} y1="10" y2="10" />
                `
          }
          ${
            f.effect === null
              ? null
              : html`
                  <circle cx=${x(f.effect)} cy="10" r="3.5" />
                `
          }
        </svg>
      </td>
      <td class="num ink3">${f.runs_with}, ${f.runs_without}</td>
    </tr>
  `;
}

/** A value of a setting. @param {string} text */
const short = (text) => (text !== "" && !Number.isNaN(Number(text)) ? number(Number(text), 6) : text.slice(0, 40));
