/** The choice of columns: of the run, of settings (those that differ first), of metrics. */

import { useEffect, useState } from "preact/hooks";
import { count } from "../base/text/format.js";
import { OWN, USUAL, settings, titleOf } from "../base/text/run-columns.js";
import { html } from "../parts/html.js";
import { go } from "../state.js";
import { get } from "../wire/api.js";
import { text } from "./cells.js";

const MOST = 60; // metrics that are listed before one types

/** @param {{columns: string[], list: import("../state.js").RunRow[], close: () => void}} props */
export function ColumnsMenu({ columns, list, close }) {
  const [search, setSearch] = useState("");
  const [metrics, setMetrics] = useState(/** @type {[string, number][] | null} */ (null));
  useEffect(() => {
    get("runs/metrics").then(
      (answer) => setMetrics(Object.entries(answer.names)),
      () => setMetrics([]),
    );
  }, []);
  const fits = (/** @type {string} */ name) => name.toLowerCase().includes(search.toLowerCase());
  const all = settings(list);
  const differing = all.filter((s) => s.differs && fits(s.key));
  const equal = search ? all.filter((s) => !s.differs && fits(s.key)) : [];
  const found = (metrics ?? []).filter(([name]) => fits(name));
  return html`
    <div class="popover" role="dialog" aria-label="columns">
      <input
        class="field"
        value=${search}
        aria-label="find a setting or metric"
        placeholder="Find a setting or metric"
        onInput=${(/** @type {any} */ e) => setSearch(e.target.value)}
        onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
          if (e.key === "Escape") close();
        }} />
      <div class="choices">
        <h3>Of the run</h3>
        ${OWN.filter(([, title]) => fits(title)).map(([name, title]) => choice(columns, name, title, ""))}
        <h3>Settings that differ ${count(differing.length)} of ${count(all.length)}</h3>
        ${differing.map((s) => choice(columns, `config.${s.key}`, s.key, s.values.slice(0, 3).map(text).join(", ")))}
        ${equal.map((s) => choice(columns, `config.${s.key}`, s.key, `all ${text(s.values[0])}`))}
        <h3>Metrics, last value ${metrics ? count(metrics.length) : "…"}</h3>
        ${found.slice(0, MOST).map(([name, runs]) => choice(columns, `metric.${name}`, name, `${count(runs)} runs`))}
        ${
          found.length > MOST
            ? html`
                <p class="ink3 small">and ${count(found.length - MOST)} more: type to find them</p>
              `
            : null
        }
      </div>
      <div class="line">
        <button class="button" type="button" onClick=${() => go({ cols: "" }, "replace")}>Reset</button>
        <button class="button" type="button" onClick=${close}>Done</button>
      </div>
    </div>
  `;
}

/** @param {string[]} columns @param {string} column @param {string} title @param {string} more */
const choice = (columns, column, title, more) => html`
  <label>
    <input type="checkbox" checked=${columns.includes(column)} onChange=${() => toggle(columns, column)} />
    <span class="cut" title=${title}>${title}</span>
    <span class="ink3 cut">${more}</span>
  </label>
`;

/** Show or hide a column. New ones come before the last usual ones, where one looks first.
 * @param {string[]} columns @param {string} column */
function toggle(columns, column) {
  const next = columns.includes(column) ? columns.filter((c) => c !== column) : placed(columns, column);
  go({ cols: next.join(",") === USUAL.join(",") ? "" : next.join(",") }, "replace");
}

/** @param {string[]} columns @param {string} column */
function placed(columns, column) {
  const order = OWN.map(([name]) => /** @type {string} */ (name));
  const own = order.indexOf(column);
  const at = own < 0 ? columns.indexOf("findings") : columns.findIndex((c) => order.indexOf(c) > own);
  return at < 0 ? [...columns, column] : [...columns.slice(0, at), column, ...columns.slice(at)];
}

/** Columns by which one may group. @param {import("../state.js").RunRow[]} list
 * @returns {[string, string][]} */
export const groupings = (list) => [
  ["configuration", "all but seed"],
  ...["project", "group", "algorithm", "framework", "state", "tags"].map(
    (name) => /** @type {[string, string]} */ ([name, titleOf(name)]),
  ),
  ...settings(list)
    .filter((s) => s.differs)
    .map((s) => /** @type {[string, string]} */ ([`config.${s.key}`, s.key])),
];
