/** Compare: the settings that differ between runs, and the runs' vital signs on the same charts. */

import { useEffect, useState } from "preact/hooks";
import { series } from "../base/chart/color.js";
import { count, number, plural } from "../base/text/format.js";
import { MetricCard } from "../parts/cards/chart-card.js";
import { Sparkline, stateWords } from "../parts/frame/rail.js";
import { h, html } from "../parts/html.js";
import { slotOf } from "../charts/theme-colors.js";
import { theme } from "../prefs.js";
import { go, href, names, pageOf, returned, run, runs, view } from "../state.js";
import { get, part } from "../wire/api.js";

/** @typedef {import("../state.js").RunRow} RunRow */

export function Page() {
  const ids = [view.value.run, ...view.value.runs];
  const others = (runs.value ?? []).filter((r) => r.project === run.value?.project && !ids.includes(r.id));
  if (ids.length < 2)
    return html`
      <div class="verdict">
        <h1>Compare with which run?</h1>
        <p class="prose">
          ${
            others.length
              ? html`
                  Pick one.
                  <span class="railed">${" "}Add more with the swatches on the left.</span>
                `
              : html`
                  This project has only one run. Record another, or pick two on ${" "}
                  <a href="../../">Runs</a>
                  .
                `
          }
        </p>
      </div>
      ${
        others.length
          ? html`
              <div class="card rules">${others.slice(0, 40).map((r) => h(Choice, { r, key: r.id }))}</div>
            `
          : null
      }
    `;
  return html`
    ${h(Settings, { ids, key: ids.join("\n") })}${h(Charts, { id: view.value.run, key: `charts ${view.value.run}` })}
  `;
}

/** A run to compare with. @param {{r: RunRow}} props */
function Choice({ r }) {
  const { color } = series(slotOf(r.id), theme.value);
  return html`
    <button class="rulerow choice" type="button" onClick=${() => go({ runs: [r.id] })}>
      <i class="swatch" style=${{ "--c": color }}></i>
      <span>
        <b>${r.name || r.id}</b>
        ${" "}
        <span class="ink3">${stateWords(r)}${r.algorithm ? `, ${r.algorithm}` : ""}</span>
      </span>
      ${h(Sparkline, { values: r.spark, color, width: 92, height: 22 })}
      <span class="n ink3">${typeof r.headline_value === "number" ? number(r.headline_value) : "–"}</span>
    </button>
  `;
}

/** The settings that differ. @param {{ids: string[]}} props */
function Settings({ ids }) {
  const [details, setDetails] = useState(/** @type {any[]} */ ([]));
  const [error, setError] = useState("");
  useEffect(() => {
    Promise.all(ids.map((id) => get(`runs/${part(id)}`))).then(setDetails, (e) => setError(e.message));
  }, [returned.value]);
  if (error && !details.length)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (details.length !== ids.length) return null;
  const flat = details.map((d) => d.run.config);
  const keys = [...new Set(flat.flatMap((c) => Object.keys(c)))]
    .sort()
    .filter((k) => new Set(flat.map((c) => JSON.stringify(c[k]))).size > 1);
  const differ = `${plural(keys.length, "setting")} ${keys.length === 1 ? "differs" : "differ"}`;
  return html`
    <div class="verdict">
      <h1>${keys.length ? differ : "The configurations are equal"}</h1>
      <p class="prose"><a href=${href({ page: "metrics" })}>All metrics of these runs</a></p>
    </div>
    ${
      keys.length
        ? html`
            <div class="card differs-table">
              <table class="table">
                <thead>
                  <tr>
                    <th></th>
                    ${details.map(
                      (d) => html`
                        <th>
                          <i class="swatch" style=${{ "--c": series(slotOf(d.run.id), theme.value).color }}></i>
                          <a href=${pageOf(d.run.id, "overview")}>${d.run.name || d.run.id}</a>
                        </th>
                      `,
                    )}
                  </tr>
                </thead>
                <tbody>
                  ${keys.map(
                    (k) => html`
                      <tr>
                        <td class="ink3">${k}</td>
                        ${flat.map(
                          (c) => html`
                            <td class="n model">${shown(c[k])}</td>
                          `,
                        )}
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
            </div>
          `
        : null
    }
  `;
}

/** A setting as text. @param {unknown} v */
const shown = (v) =>
  v === undefined || v === null
    ? "–"
    : typeof v !== "number"
      ? String(v)
      : Number.isInteger(v)
        ? count(v)
        : number(v, 6);

/** The vital signs of the first run, with all runs on each chart. @param {{id: string}} props */
function Charts({ id }) {
  const [vitals, setVitals] = useState(/** @type {string[]} */ ([]));
  useEffect(() => {
    get(`runs/${part(id)}/overview`).then(
      (overview) => setVitals(overview.vitals.map((/** @type {any} */ v) => v.metrics[0])),
      () => {},
    );
  }, [id, returned.value]);
  const list = vitals.map((name) => names.value?.find((m) => m.name === name)).filter((m) => m !== undefined);
  return html`
    <div class="cards compare-cards">
      ${list.map((info) => h(MetricCard, { info, xLabels: true, full: true, key: info.name }))}
    </div>
  `;
}
