/** Timeline: the lanes come with a later version; what a step's spans add up to is here already. */

import { count, duration, percent } from "../base/format.js";
import { step, view } from "../state.js";
import { part } from "../wire/api.js";
import { useAnswer } from "../parts/details.js";
import { html } from "../parts/html.js";

export function Page() {
  const [found] = useAnswer(`runs/${part(view.value.run)}/overview?step=${step.value}`);
  if (!found) return null;
  const total = found.time.reduce((/** @type {number} */ n, /** @type {any} */ p) => n + p.seconds, 0);
  if (!total) return html`<div class="bare-page"><h1>No spans yet</h1><p class="ink2"><code>with run.span("generate", lane="inference/0"):</code> draws this page.</p></div>`;
  return html`<div class="bare-page"><h1>${duration(total)} in step ${count(found.time_step)}</h1><table class="table"><tbody>${found.time.map((/** @type {any} */ p) => html`<tr><td>${p.name}${p.wait ? html` <span class="tag">wait</span>` : null}</td><td class="num">${duration(p.seconds)}</td><td class="num ink3">${percent(p.seconds / total)} %</td></tr>`)}</tbody></table><p class="ink3">Sums of the trainer's first lane. Lanes, zoom and who waits for whom are not drawn yet; the spans are recorded, and <code>rollscope sql</code> reads them.</p></div>`;
}
