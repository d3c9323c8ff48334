/** Two evaluations paired: the difference with its interval, and what happened to the tasks. */

import { count, plural } from "../base/text/format.js";
import { Field } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { go } from "../state.js";
import { pOf, signed, unitOf } from "./words.js";

/** @typedef {import("../wire/types.gen").PairShape} PairShape */

/** Kinds in the order of the bar: key, class, words. */
const KINDS = /** @type {const} */ ([
  ["right", "k-right", "right both times"],
  ["learnt", "k-learnt", "learnt"],
  ["lost", "k-lost", "lost"],
  ["wrong_otherwise", "k-other", "wrong in another way"],
  ["wrong_alike", "k-wrong", "not solved either time"],
  ["failed", "k-failed", "failed"],
]);

/** The same for scores that have no right and wrong. @type {Record<string, string>} */
const UNGRADED = { learnt: "rose", lost: "fell", wrong_otherwise: "equal, with other answers", wrong_alike: "equal" };

/** @param {{pair: PairShape, graded: boolean, steps: number[],
 *   pick: (before: number, after: number) => void, show: (kind: string) => void}} props */
export function Paired({ pair, graded, steps, pick, show }) {
  const choose = (
    /** @type {string} */ label,
    /** @type {number} */ value,
    /** @type {(s: number) => void} */ act,
  ) => html`
    <select aria-label=${label} value=${value} onChange=${(/** @type {any} */ e) => act(Number(e.target.value))}>
      ${steps.map(
        (s) => html`
          <option value=${s} selected=${s === value}>step ${count(s)}</option>
        `,
      )}
    </select>
  `;
  return html`
    <section class="paired">
      <h1 class="n">
        ${signed(/** @type {number} */ (pair.difference), graded)} ${unitOf(graded)}
        <span class="steps">
          ${choose("Step after", pair.after, (s) => pick(pair.before, s))}
          <span class="ink3">against</span>
          ${choose("Step before", pair.before, (s) => pick(s, pair.after))}
        </span>
        ${h(Interval, { pair, graded })}
      </h1>
      <p class="ink2 n">${sentence(pair, graded)}${" "}${h(Equal, { pair, graded })}</p>
      ${h(Flips, { pair, graded, show })}
    </section>
  `;
}

/** @param {PairShape} pair @param {boolean} graded */
function sentence(pair, graded) {
  const tasks = plural(pair.n, "task");
  if (pair.low === null) return `${tasks} with a score in both: too few for an interval.`;
  const [low, high, p] = [Number(pair.low), Number(pair.high), Number(pair.p)];
  const span = `${signed(low, graded)} to ${signed(high, graded)}`;
  return `95 % interval ${span}, ${pOf(p)}, paired over the ${tasks} answered at both steps.`;
}

/** Whether the two are equal within a margin, which one can change.
 * @param {{pair: PairShape, graded: boolean}} props */
function Equal({ pair, graded }) {
  const scale = graded ? 100 : 1;
  const shown = pair.margin === null ? "" : String(Number((scale * Number(pair.margin)).toPrecision(6)));
  const p = pair.p_equivalent;
  const says = p === null ? "" : Number(p) <= 0.05 ? `yes, ${pOf(Number(p))}` : `not shown, ${pOf(Number(p))}`;
  const take = (/** @type {string} */ text) =>
    go({ margin: text === "" ? "0" : String(Number(text) / scale) }, "replace");
  return html`
    <label class="margin">
      Equal within${" "}
      ${h(Field, {
        label: "Margin: a difference that would not matter",
        value: shown,
        take,
        more: { type: "number", min: "0", step: "any" },
      })}
      ${" "}${unitOf(graded)}${says ? `: ${says}.` : "?"}
    </label>
  `;
}

/** The interval as a line with 0 marked. @param {{pair: PairShape, graded: boolean}} props */
function Interval({ pair, graded }) {
  const [low, high, at] = [pair.low, pair.high, pair.difference].map(Number);
  if (pair.low === null || low === undefined || high === undefined || at === undefined) return null;
  const [from, to] = [Math.min(0, low), Math.max(0, high)];
  const pad = (to - from || 1) * 0.15;
  const x = (/** @type {number} */ v) => (118 * (v - from + pad)) / (to - from + 2 * pad) + 1;
  const label = `difference ${signed(at, graded)}, from ${signed(low, graded)} to ${signed(high, graded)}`;
  return html`
    <svg class="interval" viewBox="0 0 120 26" role="img" aria-label=${label}>
      <line class="axis" x1="0" x2="120" y1="20" y2="20" />
      <line class="zero" x1=${x(0)} x2=${x(0)} y1="2" y2="20" />
      <line class="span" x1=${x(low)} x2=${x(high)} y1="11" y2="11" />
      <circle cx=${x(at)} cy="11" r="3.5" />
    </svg>
  `;
}

/** A bar of all tasks by kind, and its legend.
 * @param {{pair: PairShape, graded: boolean, show: (kind: string) => void}} props */
function Flips({ pair, graded, show }) {
  const parts = KINDS.map(([key, look, words]) => ({
    key,
    look,
    words: (graded ? "" : UNGRADED[key]) || words,
    n: pair.kinds[key]?.length ?? 0,
  }));
  return html`
    <div class="flips" aria-hidden="true">
      ${parts
        .filter((p) => p.n)
        .map(
          (p) => html`
            <i class=${p.look} style=${{ flexGrow: p.n }}></i>
          `,
        )}
    </div>
    <p class="flip-words n">
      ${parts
        .filter((p) => p.n || p.key === "learnt" || p.key === "lost")
        .map(
          (p) => html`
            <button type="button" onClick=${() => show(p.key)}>
              <i class=${p.look}></i>
              ${" "}
              <b>${count(p.n)}</b>
              ${" "}${p.words}
            </button>
          `,
        )}
    </p>
  `;
}
