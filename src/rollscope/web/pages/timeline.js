/** Timeline, in a first version: what the spans of a step add up to. Lanes follow. */

import { kind } from "../base/chart/color.js";
import { count, duration, portion } from "../base/text/format.js";
import { theme } from "../prefs.js";
import { step, view } from "../state.js";
import { part } from "../wire/api.js";
import { useAnswer } from "../parts/details/details.js";
import { html } from "../parts/html.js";

export function Page() {
  const [found, error] = useAnswer(
    `runs/${part(view.value.run)}/overview${view.value.step === null ? "" : `?step=${step.value}`}`,
  );
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!found) return null;
  const total = found.time.reduce((/** @type {number} */ n, /** @type {any} */ p) => n + p.seconds, 0);
  if (!total)
    return html`
      <div class="verdict">
        <h1>No spans yet</h1>
        <p class="prose">
          <code>with run.span("generate", lane="inference/0"):</code>
          ${" "} draws this page.
        </p>
      </div>
    `;
  const most = Math.max(...found.time.map((/** @type {any} */ p) => p.seconds));
  return html`
    <div class="verdict">
      <h1>${duration(total)} in step ${count(found.time_step)}</h1>
      <p class="prose">What the trainer's first lane did, outermost spans only. SQL has them all.</p>
    </div>
    <div class="card spans">
      ${found.time.map(
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
