/** Compare: what differs between the shown runs. Their charts overlay on Metrics. */

import { useEffect, useState } from "preact/hooks";
import { href, place, run, runs, view } from "../state.js";
import { get, part } from "../wire/api.js";
import { html } from "../parts/html.js";

export function Page() {
  const ids = [view.value.run, ...view.value.runs];
  const [configs, setConfigs] = useState(/** @type {any[]} */ ([]));
  useEffect(() => { Promise.all(ids.map((id) => get(`runs/${part(id)}`))).then(setConfigs, () => {}); }, [ids.join()]);
  const others = (runs.value ?? []).filter((r) => r.project === run.value?.project && !ids.includes(r.id));
  if (ids.length < 2) return html`<div class="bare-page"><h1>Compare with which run?</h1>${others.length ? others.slice(0, 20).map((r) => html`<p><a href=${href({ runs: [r.id] })}>${r.name || r.id}</a></p>`) : html`<p class="ink2">This project has one run. Record another, or pick two on <a href="../../">Runs</a>.</p>`}</div>`;
  if (configs.length !== ids.length) return null;
  const flat = configs.map((c) => c.run.config);
  const keys = [...new Set(flat.flatMap((c) => Object.keys(c)))].sort().filter((k) => new Set(flat.map((c) => JSON.stringify(c[k]))).size > 1);
  return html`<div class="verdict"><h1>${keys.length ? `${keys.length} settings differ` : "The configurations are equal"}</h1><p class="prose"><a href=${href({ page: "metrics" })}>Their charts, one over the other</a></p></div>
    ${keys.length ? html`<table class="table"><thead><tr><th></th>${configs.map((c) => html`<th><a href=${place(c.run.id, "overview")}>${c.run.name || c.run.id}</a></th>`)}</tr></thead><tbody>${keys.map((k) => html`<tr><td class="ink3">${k}</td>${flat.map((c) => html`<td class="n model">${c[k] === undefined ? "–" : String(c[k])}</td>`)}</tr>`)}</tbody></table>` : null}`;
}
