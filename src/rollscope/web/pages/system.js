/** System: the last steps, a table of hosts, then cards of host, engine and performance metrics. */

import { CardPage } from "../parts/cards/card-page.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { step, tape, ticks, view } from "../state.js";
import { Hosts } from "../timeline/hosts.js";
import { SpanStrip } from "../timeline/span-strip.js";
import { part } from "../wire/api.js";

export const Page = () => html`
  ${h(Machines, {})}
  ${h(CardPage, {
    fits: (name) => /^(host|engine|perf|balance|time|timing)[/_]/.test(name),
    first: ["host", "engine", "perf", "balance"],
    none: html`
      <h1>No machine was recorded</h1>
      <p class="ink2">
        <code>rs.init(..., host=True)</code>
        ${" "} records CPU, memory, disk, network and GPUs once a second; ${" "}
        <code>scrape="http://engine:8000/metrics"</code>
        ${" "} adds inference engines.
      </p>
    `,
  })}
`;

function Machines() {
  const live = Math.floor(ticks.value / 8);
  const [table] = useAnswer(`runs/${part(view.value.run)}/hosts`, live);
  return table?.hosts.length ? h(Hosts, { table, at: caret(table), strip: h(SpanStrip, { live }) }) : null;
}

/** The caret as a share of the machines' time, or null without one. @param {any} table */
function caret(table) {
  const clocks = tape.value?.clocks ?? {};
  const [steps, times] = [clocks.step ?? [], clocks.time ?? []];
  const i = steps.indexOf(step.value);
  if (i < 0 || times[i] === undefined || table.end_ns <= table.start_ns) return null;
  const share = (Number(times[i]) - table.start_ns / 1e9) / ((table.end_ns - table.start_ns) / 1e9);
  return share >= 0 && share <= 1 ? share : null;
}
