/** Timeline, in a first version: the seconds of a step by span. */

import { kind } from "../base/chart/color.js";
import { count, duration, portion } from "../base/text/format.js";
import { html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { theme } from "../prefs.js";
import { step, view } from "../state.js";
import { part } from "../wire/api.js";

export function Page() {
  const [overview, error] = useAnswer(
    `runs/${part(view.value.run)}/overview${view.value.step === null ? "" : `?step=${step.value}`}`,
  );
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!overview) return null;
  const total = overview.time.reduce((/** @type {number} */ n, /** @type {any} */ p) => n + p.seconds, 0);
  if (!total)
    return html`
      <div class="verdict">
        <h1>No spans yet</h1>
        <p class="prose">
          Record them with ${" "}
          <code>with run.span("generate", lane="inference/0"):</code>
          .
        </p>
      </div>
    `;
  const most = Math.max(...overview.time.map((/** @type {any} */ p) => p.seconds));
  return html`
    <div class="verdict">
      <h1>${duration(total)} in step ${count(overview.time_step)}</h1>
      <p class="prose">The outermost spans of the trainer's first lane. All spans are in the SQL table spans.</p>
    </div>
    <div class="card spans">
      ${overview.time.map(
        (/** @type {any} */ p) => html`
          <div class="spanrow n">
            <span class="cut">
              ${p.name.replaceAll("_", " ")}${
                p.wait
                  ? html`
                      ${" "}
                      <span class="tag">wait</span>
                    `
                  : null
              }
            </span>
            <i
              class=${p.wait ? "hatch" : ""}
              style=${{ "--w": `${(100 * p.seconds) / most}%`, "--c": kind(p.name, theme.value) }}></i>
            <span class="num">${duration(p.seconds)}</span>
            <span class="num ink3">${portion(p.seconds / total)} %</span>
          </div>
        `,
      )}
    </div>
  `;
}
