/** Compare: who is better with what certainty, what differs, and where groups of runs part. */

import { useMemo, useState } from "preact/hooks";
import { series } from "../base/chart/color.js";
import { clockLabel } from "../base/chart/ticks.js";
import { count, number, plural } from "../base/text/format.js";
import { Against } from "../compare/against.js";
import { CompareCard } from "../compare/card.js";
import { Differs } from "../compare/differs.js";
import { Factors } from "../compare/factors.js";
import { drawingOf, query, useCurves } from "../compare/loading.js";
import { SameTasks } from "../compare/tasks.js";
import { Verdict } from "../compare/verdict.js";
import { useAnswer } from "../parts/use-answer.js";
import { Sparkline, stateWords } from "../parts/frame/rail.js";
import { h, html } from "../parts/html.js";
import { slotOf } from "../charts/theme-colors.js";
import { theme } from "../prefs.js";
import { go, names, run, runs, view } from "../state.js";

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
    ${h(Compared, { ids })}
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

const FIRST = 12; // charts that are shown before one asks for more

/** @param {{ids: string[]}} props */
function Compared({ ids }) {
  const [most, setMost] = useState(FIRST);
  const { by, view: centre } = view.value;
  const [answer, error] = useAnswer(`compare?${query(ids, by)}`);
  const found = /** @type {import("../wire/types.gen").ComparisonShape | null} */ (answer);
  const x = view.value.x === "time" ? "relative" : view.value.x;
  const shown = found?.metrics.slice(0, most).map((m) => m.name) ?? [];
  const [curves, problem] = useCurves(found, shown, x, centre === "iqm" ? "iqm" : "mean");
  const asked = found?.measured ? `compare/noise?${query(ids, by)}&on=${encodeURIComponent(found.measured)}` : "";
  const [noise] = useAnswer(curves ? asked : "");
  const colors = found?.groups.map((g) => series(slotOf(g.runs[0] ?? ""), theme.value).color) ?? [];
  const drawings = useMemo(() => drawn(found, curves, colors, x), [found, curves, colors.join()]);
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!found)
    return html`
      <p class="compare-waits ink3">Reading ${plural(ids.length, "run")} and their seeds.</p>
    `;
  const first = found.groups.slice(0, 2).map((g) => g.runs[0] ?? "");
  const measures = [...found.sets, ...found.metrics.slice(0, 40).map((m) => m.name)];
  const named = (/** @type {number} */ v) =>
    x === "relative" ? clockLabel(v, 3600) : x === "gpu" ? `${number(v)} GPU-h` : number(v);
  return html`
    ${h(Verdict, { found, colors, noise: noise?.says ?? "" })}
    <div class="compare-page">
      <div class="compare-side">
        ${h(Against, { found, colors })}${h(Differs, { found, colors })}${h(Factors, { ids, options: measures })}
        ${found.sets.slice(0, 3).map((set) => h(SameTasks, { ids, set, colors, first, key: `set ${set}` }))}
        ${h(SameTasks, { ids, set: "", colors, first, key: "training" })}
      </div>
      <div class="cards compare-cards">
        ${[problem, curves ? without(curves.head) : ""].filter(Boolean).map(
          (says) => html`
            <p class="ink2 compare-says">${says}</p>
          `,
        )}
        ${drawings.map((/** @type {any} */ { name, drawing }) =>
          h(CompareCard, {
            name,
            unit: unitOf(name),
            drawing,
            letters: found.groups.map((g) => g.letter),
            named,
            key: name,
          }),
        )}
        ${
          found.metrics.length > most
            ? html`
                <button class="button" type="button" onClick=${() => setMost(most + 24)}>
                  ${plural(found.metrics.length - most, "more metric")}
                </button>
              `
            : null
        }
      </div>
    </div>
  `;
}

const CLOCKS = /** @type {Record<string, string>} */ ({
  tokens: "count no tokens",
  samples: "count no samples",
  gpu: "do not say how many GPUs they had: run.declare(gpus=8), or gpus in the configuration",
});

/** Which runs an axis leaves out, and why. @param {any} head */
function without({ unknown, runs: all, x }) {
  if (!unknown?.length || !CLOCKS[x]) return "";
  return `${count(unknown.length)} of ${plural(all.length, "run")} ${CLOCKS[x]}.`;
}

/** @param {string} name */
const unitOf = (name) => names.value?.find((m) => m.name === name)?.unit ?? "";

/** The charts of an answer; a parting is known in steps. @param {any} found @param {any} curves
 * @param {string[]} colors @param {string} x */
function drawn(found, curves, colors, x) {
  if (!found || !curves || curves.head.groups !== found.groups.length) return [];
  if (curves.head.unknown.length === curves.head.runs.length) return [];
  const groups = found.groups.map((/** @type {any} */ g) => g.runs);
  if (curves.head.runs.join() !== groups.flat().join()) return [];
  return curves.head.metrics.map((/** @type {any} */ m, /** @type {number} */ i) => {
    const parting = found.metrics.find((/** @type {any} */ one) => one.name === m.name)?.step ?? null;
    return { name: m.name, drawing: drawingOf(curves, i, groups, colors, x === "step" ? parting : null) };
  });
}
