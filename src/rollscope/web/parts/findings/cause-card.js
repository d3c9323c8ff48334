/** A cause opened into what it cost, what to check and what to change; below it what follows. */

import { count } from "../../base/text/format.js";
import { go } from "../../state.js";
import { FindingRow } from "../finding-row.js";
import { h, html } from "../html.js";
import { StopRun } from "./stop-run.js";

/** @typedef {import("../../wire/types.gen").FindingShape} FindingShape */
/** @typedef {import("../../base/text/chain.js").Link<FindingShape>} Link */
/** @typedef {import("../../wire/types.gen").FindingList} FindingList */

/** @param {{chain: Link[], answer: FindingList, at: FindingShape | null}} props */
export function CauseCard({ chain, answer, at }) {
  const [first, ...rest] = chain;
  if (!first) return null;
  const { f } = first;
  return html`
    <div class="card findings-rows">
      ${h(FindingRow, { f, at: at === f })}
      <div class="cause-columns">
        <section>
          <h3>What it cost</h3>
          ${cost(f)}
        </section>
        <section>
          <h3>First checks</h3>
          ${list(f.check)}
        </section>
        <section>
          <h3>Advice</h3>
          ${f.advice.map(
            (a) => html`
              <p class="read">
                ${a.text}${" "}
                <span class="ink3">${a.source}</span>
              </p>
            `,
          )}
          ${
            answer.resume[f.rule]
              ? html`
                  <p class="read">${answer.resume[f.rule]}</p>
                `
              : null
          }
        </section>
      </div>
      <div class="cause-foot">
        <span class="ink3">${told(f, answer)}</span>
        <button class="button" type="button" onClick=${() => go({ open: `finding:${f.rule}@${f.step}` })}>
          Not a problem here
        </button>
        ${h(StopRun, { f, answer })}
      </div>
      ${rest.map(
        (link) => html`
          <div class="follows" style=${{ "--depth": link.depth }} key=${`${link.f.rule}${link.f.step}`}>
            ${h(FindingRow, { f: link.f, at: at === link.f })}
          </div>
        `,
      )}
    </div>
  `;
}

/** @param {FindingShape} f */
function cost(f) {
  const c = f.cost;
  if (!c)
    return html`
      <p class="read">No work is known to be wasted by it.</p>
    `;
  const hours = c.gpu_hours === null ? "" : `${c.gpu_hours.toFixed(1)} GPU-hours`;
  const money = c.money === null ? "" : `${Math.round(c.money).toLocaleString("en")} ${c.currency}`;
  const share = `${(100 * c.share).toFixed(c.share < 0.1 ? 1 : 0)} %`;
  return html`
    <p class="figure">${[hours, money].filter(Boolean).join(", ") || share}</p>
    <p class="read">${hours || money ? `${share} of the run's work. ` : ""}${c.why}</p>
  `;
}

/** @param {string[]} checks */
const list = (checks) => html`
  <ol class="checks">
    ${checks.map(
      (c) => html`
        <li>${c}</li>
      `,
    )}
  </ol>
`;

const STAGES = /** @type {Record<string, string>} */ ({
  sent: "Told",
  queued: "Not yet told",
  failed: "Could not tell",
  sending: "Telling",
  refused: "Could not tell",
  unanswered: "Told, without an answer,",
  "given up": "Could not tell",
});

/** Who was told about a finding and its end. @param {FindingShape} f @param {FindingList} answer */
function told(f, answer) {
  const mine = answer.told.filter((t) => t.rule === f.rule && t.step === f.step);
  if (!mine.length) return "Nobody was told: rollscope doctor --follow --notify TARGET does.";
  return mine.map((t) => `${STAGES[t.stage] ?? t.stage} ${t.to} ${event(t)}${t.why ? `: ${t.why}` : ""}`).join(". ");
}

/** @param {{event: string, time_ns: number}} t */
const event = (t) =>
  `${t.event === "opened" ? "that it began" : "that it is over"}, ${new Date(t.time_ns / 1e6).toLocaleTimeString()}`;

/** Steps of a finding in words. @param {FindingShape} f */
export const steps = (f) =>
  f.until === null ? `since step ${count(f.step)}` : `from step ${count(f.step)} to ${count(f.until)}`;
