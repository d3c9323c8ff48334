/** Overview: is this run healthy? The verdict, findings, six vital signs, the time of a step, three
 * samples, and the configuration. */

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { kind } from "../base/chart/color.js";
import { count, duration, portion } from "../base/text/format.js";
import { lazy } from "../parts/cards/card-section.js";
import { ChartCard } from "../parts/cards/chart-card.js";
import { Status } from "../parts/controls.js";
import { FindingRow } from "../parts/finding-row.js";
import { h, html } from "../parts/html.js";
import { theme } from "../prefs.js";
import { failure, go, href, pageOf, ticks, view } from "../state.js";
import { get, part } from "../wire/api.js";

/** @typedef {import("../wire/types.gen").OverviewShape} OverviewShape */
/** @typedef {import("../wire/types.gen").Vital} Vital */

export function Page() {
  const [overview, setOverview] = useState(/** @type {OverviewShape | null} */ (null));
  const [again, setAgain] = useState(0);
  const Environments = useLater(() => import("../parts/environments.js").then((m) => m.Environments));
  const at = view.value.step;
  const query = new URLSearchParams({
    ...(at === null ? {} : { step: String(at) }),
    ...(view.value.view ? { kind: view.value.view } : {}),
    ...(view.value.env ? { env: view.value.env } : {}),
  });
  useLayoutEffect(() => {
    const abort = new AbortController();
    const load = () =>
      get(`runs/${part(view.value.run)}/overview?${query}`, abort.signal).then(setOverview, (e) => {
        if (e.name !== "AbortError") failure.value = e.message;
      });
    if (!overview) load();
    const wait = overview ? setTimeout(load, 120) : 0;
    return () => {
      clearTimeout(wait);
      abort.abort();
    };
  }, [view.value.run, at, view.value.view, view.value.env, Math.floor(ticks.value / 3), again]);
  useEffect(() => {
    if (!overview || overview.diagnosed) return;
    const wait = setTimeout(() => setAgain(again + 1), 700);
    return () => clearTimeout(wait);
  }, [overview]);
  if (!overview)
    return failure.value
      ? html`
          <p class="bare-page">${failure.value}</p>
        `
      : null;
  const top = worst(overview.findings).slice(0, 3);
  const more = overview.findings.length - top.length;
  return html`
    <div class="verdict">
      <h1>${overview.verdict}</h1>
      <p class="prose">${overview.context}</p>
      ${
        overview.useful?.wasted.length
          ? html`
              <p class="prose ink2" data-part="useful">${overview.useful.sentence}</p>
            `
          : null
      }
    </div>
    ${
      top.length
        ? html`
            <div class="card findings-rows">${top.map((f) => h(FindingRow, { f, key: `${f.rule}${f.step}` }))}</div>
          `
        : null
    }
    ${
      more > 0
        ? html`
            <p class="read" style=${{ paddingBottom: "12px" }}>
              <a href=${href({ page: "findings", open: "" })}>${count(more)} more on Findings</a>
            </p>
          `
        : null
    }
    <div class="choices small ink3">${h(KindChoice, { overview })} ${Environments && h(Environments, {})}</div>
    <div class="cards vitals">${overview.vitals.map((v) => h(VitalCard, { v, key: v.metrics.join() }))}</div>
    ${
      overview.vitals.length
        ? null
        : html`
            <div class="bare-page">
              <p class="ink2">
                No vital signs yet. ${" "}
                <code>run.log_batch(batch, step=step)</code>
                ${" "} computes them from a batch.
              </p>
            </div>
          `
    }
    <div class="split">${h(TimeBlock, { overview })}${h(SamplesBlock, { overview })}</div>
    <div class="settings">${h(LazyDifference, { most: MOST_DIFFERENCES })}${h(ConfigBlock, { overview })}</div>
  `;
}

/** A component that is loaded after the first ink; null until then.
 * @param {() => Promise<any>} load */
function useLater(load) {
  const [loaded, setLoaded] = useState(/** @type {any} */ (null));
  useEffect(() => {
    setTimeout(() => load().then((component) => setLoaded(() => component)), 50);
  }, []);
  return loaded;
}

const MOST_DIFFERENCES = 8; // the Facts page has them all
const LazyDifference = lazy(() => import("../parts/difference.js").then((m) => m.Difference));

/** Whose vital signs are shown: those of the run's own kind, or of another.
 * @param {{overview: OverviewShape}} props */
function KindChoice({ overview }) {
  const pick = (/** @type {Event} */ e) => go({ view: /** @type {HTMLSelectElement} */ (e.target).value }, "replace");
  return html`
    <label class="kind">
      Vital signs of ${" "}
      <select class="field" onChange=${pick}>
        ${overview.kinds.map(
          ([name, title]) => html`
            <option value=${name} selected=${name === overview.kind}>${title}</option>
          `,
        )}
      </select>
    </label>
  `;
}

/** @param {{v: Vital}} props */
function VitalCard({ v }) {
  const open = v.entry ? `metric:${v.metrics[0]}` : `point:${v.metrics[0]}`;
  const head = html`
    ${h(Status, { is: v.status, against: v.reference.text })}
    <button class="title cut" type="button" title=${v.metrics.join(", ")} onClick=${() => go({ open })}>
      ${v.title}
    </button>
  `;
  const metrics = v.metrics.map((name, i) => ({ name, label: v.labels[i] ?? "", dashed: i > 0, slot: i * 2 }));
  return h(ChartCard, {
    id: /** @type {string} */ (v.metrics[0]),
    label: v.title,
    head,
    tools: null,
    unit: v.unit,
    large: false,
    extra: v.extra,
    after: html`
      <p class="reading">
        <span>${v.reading}</span>
        <span class="against">${v.reference.text}</span>
      </p>
    `,
    spec: { metrics, unit: v.unit, range: v.range, healthy: v.healthy, xLabels: true, points: v.points },
  });
}

/** @param {{overview: OverviewShape}} props */
function TimeBlock({ overview }) {
  const total = overview.time.reduce((n, p) => n + p.seconds, 0);
  if (!total)
    return html`
      <section class="card block">
        <h2>Time of a step</h2>
        <p class="read">
          Not recorded yet. Record it with ${" "}
          <code>with run.span("generate", lane="trainer/0"):</code>
          ${" "} or with ${" "}
          <code>seconds={"generate": 18.4}</code>
          ${" "} in a batch.
        </p>
      </section>
    `;
  return html`
    <section class="card block">
      <h2>
        Where the ${duration(total)} of a step go ${" "}
        <span>step ${count(overview.time_step)}</span>
      </h2>
      <div
        class="stack"
        role="img"
        aria-label=${overview.time.map((p) => `${p.name} ${duration(p.seconds)}`).join(", ")}>
        ${overview.time.map(
          (p) => html`
            <i
              class=${p.wait ? "hatch" : ""}
              style=${{ flex: `${(100 * p.seconds) / total} 0 0`, "--c": kind(p.name, theme.value) }}
              title=${`${p.name}, ${duration(p.seconds)}`}></i>
          `,
        )}
      </div>
      <div class="legend">
        ${overview.time.map(
          (p) => html`
            <div>
              <i class=${p.wait ? "swatch hatch" : "swatch"} style=${{ "--c": kind(p.name, theme.value) }}></i>
              <span class="cut">${p.name.replaceAll("_", " ")}</span>
              <b>${duration(p.seconds)}</b>
              <span class="ink3 n">${portion(p.seconds / total)} %</span>
            </div>
          `,
        )}
      </div>
    </section>
  `;
}

/** @param {{overview: OverviewShape}} props */
function SamplesBlock({ overview }) {
  const rows = useLater(() => import("../parts/sample-row.js"));
  if (!overview.samples.length)
    return html`
      <section class="card block">
        <h2>
          Samples${
            overview.samples_step === null
              ? ""
              : html`
                  ${" "}
                  <span>step ${count(overview.samples_step)}</span>
                `
          }
        </h2>
        <p class="read">
          ${
            overview.samples_step === null
              ? html`
                  None recorded yet. Record them with ${" "}
                  <code>run.log_samples(step=..., samples=[...])</code>
                  .
                `
              : "This step has no samples."
          }
        </p>
        ${rows && h(rows.Stepless, { overview })}
      </section>
    `;
  return html`
    <section class="card block">
      <h2>
        Best, median, worst ${" "}
        <span>${overview.samples_step === null ? "of the run" : `step ${count(overview.samples_step)}`}</span>
      </h2>
      ${
        rows &&
        overview.samples.map(({ sample, label }) => {
          const open = () => go({ open: `sample:${sample.id}` });
          return h(rows.SampleRow, { sample, label, range: overview.reward_range, open });
        })
      }
      ${rows && h(rows.Stepless, { overview })}
    </section>
  `;
}

/** @param {{overview: OverviewShape}} props */
function ConfigBlock({ overview }) {
  if (!overview.facts.length) return null;
  return html`
    <section class="card block">
      <h2>
        Configuration ${" "}
        <a href=${pageOf(view.value.run, "facts")}>all facts</a>
      </h2>
      <dl class="config">
        ${overview.facts.map(
          ([key, value]) => html`
            <div>
              <dt class="ink3">${key}</dt>
              <dd class="n">${value}</dd>
            </div>
          `,
        )}
      </dl>
    </section>
  `;
}

/** Causes before their consequences, and of each the bad ones first.
 * @param {import("../wire/types.gen").FindingShape[]} all */
function worst(all) {
  const told = all.filter((f) => f.severity !== "info");
  const isCause = (/** @type {{cause: string}} */ f) => !told.some((other) => other.rule === f.cause);
  const rank = (/** @type {any} */ f) => (isCause(f) ? 0 : 2) + (f.severity === "bad" ? 0 : 1);
  return told.toSorted((a, b) => rank(a) - rank(b));
}
