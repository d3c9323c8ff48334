/** The answer for a step, always in view: where its time goes, who waits for whom, its critical
 * path, and what a change would save. */

import { kind } from "../base/chart/color.js";
import { count, duration, portion } from "../base/text/format.js";
import { html } from "../parts/html.js";
import { openDeeper } from "../parts/details/trail.js";
import { theme } from "../prefs.js";

const MOST_LANES = 6;

/** @param {{answer: any, error: string}} props */
export function Answer({ answer, error }) {
  if (!answer)
    return html`
      <div class="step-answer"><p class="ink3">${error}</p></div>
    `;
  return html`
    <div class="step-answer" data-step=${answer.step}>
      ${where(answer)}${waits(answer)}${path(answer)}${levers(answer)}
    </div>
  `;
}

/** @param {any} a */
function where(a) {
  const rest = a.lanes.length - MOST_LANES;
  return html`
    <section>
      <h2>Where the ${duration(a.wall_s)} of step ${count(a.step)} go</h2>
      ${a.lanes.slice(0, MOST_LANES).map(lane)}
      ${
        rest > 0
          ? html`
              <p class="ink3">
                ${count(rest)} more lanes in
                <code>rollscope timeline</code>
              </p>
            `
          : null
      }
      ${a.notes.map(
        (/** @type {string} */ note) => html`
          <p class="watch">${note}</p>
        `,
      )}
    </section>
  `;
}

/** @param {any} l */
function lane(l) {
  const reasons = Object.entries(l.waiting_for)
    .map(([reason, share]) => `${portion(Number(share))} % ${reason}`)
    .join(", ");
  const says = `${portion(l.busy)} busy, ${portion(l.waiting)} waiting, ${portion(l.idle)} idle`;
  return html`
    <div class="share n" title=${reasons ? `waiting: ${reasons}` : says}>
      <span class="cut">${l.lane}</span>
      <i>
        <b style=${{ width: `${100 * l.busy}%` }}></b>
        <b class="hatch" style=${{ width: `${100 * l.waiting}%` }}></b>
      </i>
      <span class="ink3">${says}</span>
    </div>
  `;
}

/** @param {any} a */
function waits(a) {
  return html`
    <section>
      <h2>Who waits for whom</h2>
      ${
        a.waits.length
          ? a.waits.map(
              (/** @type {any} */ w) => html`
                <p>
                  ${
                    w.sample
                      ? html`
                          <button class="line" onClick=${() => openDeeper(`sample:${w.sample}`)}>${w.says}</button>
                        `
                      : w.says
                  }
                </p>
              `,
            )
          : html`
              <p class="ink3">No lane waits in this step.</p>
            `
      }
    </section>
  `;
}

/** @param {any} a */
function path(a) {
  return html`
    <section class="path">
      <h2>What the step waited for, in order</h2>
      <ol>
        ${a.path.map(
          (/** @type {any} */ p) => html`
            <li class="n">
              <i style=${{ background: kind(p.phase, theme.value) }}></i>
              <span class="cut">${p.phase.replaceAll("_", " ")}</span>
              <span class="ink3 cut">
                ${
                  p.sample
                    ? html`
                        <button class="line" onClick=${() => openDeeper(`sample:${p.sample}`)}>${p.sample}</button>
                      `
                    : p.lane
                }
              </span>
              <span class="num">${duration(p.seconds)}</span>
            </li>
          `,
        )}
      </ol>
    </section>
  `;
}

/** @param {any} a */
function levers(a) {
  const less = a.wall_s ? 1 - a.without_waiting_s / a.wall_s : 0;
  return html`
    <section>
      <h2>What would save time</h2>
      <p class="n">
        <b>${duration(a.without_waiting_s)}</b>
        ${" "} without waiting, ${portion(less)} % less
      </p>
      ${a.levers.map(
        (/** @type {any} */ l) => html`
          <p>
            <span>${l.change[0].toUpperCase() + l.change.slice(1)}:</span>
            ${" "}
            <span class=${l.saves_s > 0.001 * a.wall_s ? "" : "ink3"}>${l.says}</span>
          </p>
        `,
      )}
    </section>
  `;
}
