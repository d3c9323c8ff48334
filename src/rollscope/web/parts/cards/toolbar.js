/** The toolbar above the charts: search, smoothing, y scale, first step, normalising, density, CSV.
 */

import { count, plural } from "../../base/text/format.js";
import { density } from "../../prefs.js";
import { go, names, view } from "../../state.js";
import { find } from "../../base/text/metric-names.js";
import { file } from "../../wire/api.js";
import { shown } from "../../wire/series.js";
import { Field, Icon, Segments } from "../controls.js";
import { say } from "../frame/overlay.js";
import { h, html } from "../html.js";
import { lazy } from "./card-section.js";

const Environments = lazy(() => import("../environments.js").then((m) => m.Environments));

/** @param {{found: number, total: number}} props */
export function Toolbar({ found, total }) {
  const v = view.value;
  return html`
    <div class="toolbar">
      <input
        class="field"
        data-search
        value=${v.q}
        placeholder="Search by any framework's name, reward*, /kl_k[13]$/"
        aria-label="Search metrics"
        spellcheck=${false}
        onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
      <span class="count n">${found === total ? plural(total, "metric") : `${count(found)} of ${count(total)}`}</span>
      ${h(Environments, {})}
      <label class="inline wide">
        smoothing
        <input
          type="range"
          min="0"
          max="0.99"
          step="0.01"
          value=${v.smooth}
          onInput=${(/** @type {any} */ e) => go({ smooth: Number(e.target.value) }, "replace")} />
        <span class="n">${v.smooth ? v.smooth.toFixed(2) : "off"}</span>
      </label>
      ${h(Segments, {
        label: "y scale",
        value: v.y,
        options: [
          ["linear", "linear"],
          ["log", "log"],
          ["symlog", "symlog"],
          ["robust", "no outliers"],
        ],
        pick: (y) => go({ y: /** @type {any} */ (y) }, "replace"),
      })}
      <label class="inline wide">
        from step${" "}
        ${h(Field, {
          label: "from step",
          value: String(v.from || ""),
          take: (text) => go({ from: Math.max(0, Math.floor(Number(text) || 0)) }),
          more: { type: "number", min: "0", placeholder: "0", style: { width: "84px" } },
        })}
      </label>
      <button
        class="button wide"
        type="button"
        aria-pressed=${String(v.norm)}
        title="Draw every metric on 0 to 1 of its range (n)"
        onClick=${() => go({ norm: !v.norm }, "replace")}>
        normalise
      </button>
      ${h(Segments, {
        label: "density",
        value: density.value,
        options: [
          ["compact", "S"],
          ["regular", "M"],
          ["large", "L"],
        ],
        pick: (d) => {
          density.value = d;
        },
      })}
      <button
        class="button wide"
        type="button"
        title="Every value of all metrics, runs and steps that are shown, as CSV"
        onClick=${saveCsv}>
        ${h(Icon, { name: "download" })}CSV
      </button>
    </div>
  `;
}

/** Save every merged value of the metrics, runs and steps that are shown. */
async function saveCsv() {
  const list = find(names.value ?? [], view.value.q).map((m) => m.name);
  const [lo, hi] = view.value.range ?? [null, null];
  const from = Math.max(view.value.from, lo ?? 0);
  try {
    const body = { runs: shown.value, names: list, first: from || null, last: hi === null ? null : Math.floor(hi) };
    const [{ save }, csv] = await Promise.all([import("./export-menu.js"), file("csv", body)]);
    save("series.csv", csv);
  } catch (error) {
    say(/** @type {Error} */ (error).message);
  }
}
