/** Details of a point of a chart: its value, its change, its ranks, findings, why it moved, and
 * samples. */

import { useEffect } from "preact/hooks";
import { clock, count, worded } from "../../base/text/format.js";
import { WhyMoved } from "../../rollouts/why-moved.js";
import { findings, href, step, view } from "../../state.js";
import { part } from "../../wire/api.js";
import { Status } from "../controls.js";
import { h, html } from "../html.js";
import { SampleRow } from "../sample-row.js";
import { numberOf, useAnswer } from "../use-answer.js";
import { openDeeper } from "./trail.js";

/** @param {{id: string, title: (t: string) => void}} props */
export function PointDetails({ id, title }) {
  const run = view.value.run;
  const at = step.value;
  const [p, error] = useAnswer(`runs/${part(run)}/point?name=${part(id)}&step=${at}`);
  const [list] = useAnswer(p ? `runs/${part(run)}/samples?step=${p.step}&metric=${part(id)}&order=worst&limit=6` : "");
  useEffect(() => title(`${id}, step ${count(at)}`), [id, at]);
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  if (!p) return null;
  const mine = findings.value.filter((f) => f.metrics.includes(id));
  const change = numberOf(p.change);
  return html`
    <dl class="facts n">
      <dt>Value</dt>
      <dd><b>${worded(numberOf(p.value), p.unit)}</b></dd>
      ${
        p.step !== at
          ? html`
              <dt>Logged at</dt>
              <dd>step ${count(p.step)}, nearest to ${count(at)}</dd>
            `
          : null
      }
      ${
        p.weight !== null
          ? html`
              <dt>Over</dt>
              <dd>${count(numberOf(p.weight))} ${p.counted}</dd>
            `
          : null
      }
      ${
        p.before_step !== null
          ? html`
              <dt>Change since ${count(p.before_step)}</dt>
              <dd>${change > 0 ? "+" : ""}${worded(change, p.unit)}</dd>
            `
          : null
      }
      ${
        p.ranks.length && numberOf(p.low) !== numberOf(p.high)
          ? html`
              <dt>Over ranks</dt>
              <dd>${worded(numberOf(p.low), p.unit)} to ${worded(numberOf(p.high), p.unit)}</dd>
            `
          : null
      }
      <dt>Logged</dt>
      <dd>${clock(p.time_ns / 1e6, Date.now())}</dd>
      <dt>Reduction</dt>
      <dd>${p.kind}</dd>
    </dl>
    ${
      mine.length
        ? html`
            <section>
              <h3>Findings about this metric</h3>
              ${mine.map(
                (f) => html`
                  <button class="said" type="button" onClick=${() => openDeeper(`finding:${f.rule}@${f.step}`)}>
                    ${h(Status, { is: f.severity })}
                    <span>
                      ${f.claim}${" "}
                      <span class="ink3">from step ${count(f.step)}</span>
                    </span>
                  </button>
                `,
              )}
            </section>
          `
        : null
    }
    ${
      p.ranks.length
        ? html`
            <section>
              <h3>By rank</h3>
              ${h(Ranks, { p })}
            </section>
          `
        : null
    }
    ${h(WhyMoved, { metric: id, step: p.step, unit: p.unit, key: id })}
    <section>
      <h3>Samples of this step</h3>
      ${
        list?.samples.length
          ? html`
              ${list.samples.map((/** @type {any} */ sample) => {
                const open = () => openDeeper(`sample:${sample.id}`);
                return h(SampleRow, { sample, label: "", open });
              })}
              <p class="small ink3">${count(list.samples.length)} of ${count(list.total)}, worst first</p>
            `
          : html`
              <p class="read">
                No samples of this step were recorded. Record them with ${" "}
                <code>run.log_samples(step=..., samples=[...])</code>
                .
              </p>
            `
      }
    </section>
    <p>
      <a
        href=${href({ open: `metric:${id}` })}
        onClick=${(/** @type {Event} */ e) => {
          e.preventDefault();
          openDeeper(`metric:${id}`);
        }}>
        About this metric
      </a>
    </p>
  `;
}

/** The value of each rank as a bar, so that an odd rank stands out.
 * @param {{p: import("../../wire/types.gen").PointShape}} props */
function Ranks({ p }) {
  const known = p.ranks.map((r) => numberOf(r.value)).filter(Number.isFinite);
  const [lo, hi] = [Math.min(...known, 0), Math.max(...known, 0)];
  const share = (/** @type {any} */ v) => (Number.isFinite(v) && hi > lo ? (100 * Math.abs(v)) / Math.max(hi, -lo) : 0);
  return html`
    <div class="ranks n">
      ${p.ranks.map(
        (r) => html`
          <span class="ink3">${r.rank}</span>
          <i style=${{ "--w": `${share(numberOf(r.value))}%` }}></i>
          <b>${worded(numberOf(r.value), p.unit)}</b>
          <span class="ink3">${r.weight === null ? "" : `over ${count(numberOf(r.weight))}`}</span>
        `,
      )}
    </div>
  `;
}
