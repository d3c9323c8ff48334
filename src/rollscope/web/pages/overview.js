/** Overview: is this run healthy? The verdict, findings, six vital signs, where the time goes, three samples, the facts. */

import { useEffect, useState } from "preact/hooks";
import { kind } from "../base/chart/color.js";
import { count, duration, portion } from "../base/text/format.js";
import { theme } from "../prefs.js";
import { failure, go, href, ticks, view } from "../state.js";
import { get, part } from "../wire/api.js";
import { ChartCard } from "../parts/cards/chart-card.js";
import { FindingRow } from "../parts/finding-row.js";
import { h, html } from "../parts/html.js";
import { Status } from "../parts/controls.js";

/** @typedef {import("../wire/types.gen").OverviewShape} OverviewShape */
/** @typedef {import("../wire/types.gen").Vital} Vital */

export function Page() {
  const [found, setFound] = useState(/** @type {OverviewShape | null} */ (null));
  const [again, setAgain] = useState(0);
  const at = view.value.step;
  useEffect(() => {
    const abort = new AbortController();
    const wait = setTimeout(
      () =>
        get(`runs/${part(view.value.run)}/overview${at === null ? "" : `?step=${at}`}`, abort.signal).then(
          setFound,
          (e) => {
            if (e.name !== "AbortError") failure.value = e.message;
          },
        ),
      found ? 120 : 0,
    );
    return () => {
      clearTimeout(wait);
      abort.abort();
    };
  }, [view.value.run, at, Math.floor(ticks.value / 3), again]);
  useEffect(() => {
    if (!found || found.diagnosed) return;
    const wait = setTimeout(() => setAgain(again + 1), 700);
    return () => clearTimeout(wait);
  }, [found]);
  if (!found)
    return failure.value
      ? html`
          <p class="bare-page">${failure.value}</p>
        `
      : null;
  const top = found.findings.filter((f) => f.severity !== "info").slice(0, 3);
  const more = found.findings.length - top.length;
  return html`
    <div class="verdict">
      <h1>${found.verdict}</h1>
      <p class="prose">${found.context}</p>
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
    <div class="cards vitals">${found.vitals.map((v) => h(VitalCard, { v, key: v.metrics.join() }))}</div>
    ${
      found.vitals.length
        ? null
        : html`
            <p class="bare-page ink2">
              No vital signs yet. ${" "}
              <code>run.log_batch(batch, step=step)</code>
              ${" "} computes them from one batch.
            </p>
          `
    }
    <div class="split">${h(TimeBlock, { found })}${h(SamplesBlock, { found })}</div>
    ${h(ConfigBlock, { found })}
  `;
}

/** @param {{v: Vital}} props */
function VitalCard({ v }) {
  const open = v.entry ? `metric:${v.metrics[0]}` : `point:${v.metrics[0]}`;
  const head = html`
    ${h(Status, { is: v.status })}
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
      <p class="reading">${v.reading}</p>
    `,
    spec: { metrics, unit: v.unit, range: v.range, healthy: v.healthy, xLabels: true, points: v.points },
  });
}

/** @param {{found: OverviewShape}} props */
function TimeBlock({ found }) {
  const total = found.time.reduce((n, p) => n + p.seconds, 0);
  if (!total)
    return html`
      <section class="card block">
        <h2>Where a step's time goes</h2>
        <p class="read">
          Not recorded yet. ${" "}
          <code>with run.span("generate", lane="trainer/0"):</code>
          ${" "} or ${" "}
          <code>seconds={"generate": 18.4}</code>
          ${" "} in a batch draws this.
        </p>
      </section>
    `;
  return html`
    <section class="card block">
      <h2>
        Where the ${duration(total)} of a step go ${" "}
        <span>step ${count(found.time_step)}</span>
      </h2>
      <div class="stack" role="img" aria-label=${found.time.map((p) => `${p.name} ${duration(p.seconds)}`).join(", ")}>
        ${found.time.map(
          (p) => html`
            <i
              class=${p.wait ? "hatch" : ""}
              style=${{ flex: `${(100 * p.seconds) / total} 0 0`, "--c": kind(p.name, theme.value) }}
              title=${`${p.name}, ${duration(p.seconds)}`}></i>
          `,
        )}
      </div>
      <div class="legend">
        ${found.time.map(
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

/** @param {{found: OverviewShape}} props */
function SamplesBlock({ found }) {
  const [SampleLine, setLine] = useState(/** @type {any} */ (null));
  useEffect(() => {
    setTimeout(() => import("../parts/sample-row.js").then((m) => setLine(() => m.SampleLine)), 50);
  }, []);
  if (!found.samples.length)
    return html`
      <section class="card block">
        <h2>
          Samples${
            found.samples_step === null
              ? ""
              : html`
                  ${" "}
                  <span>step ${count(found.samples_step)}</span>
                `
          }
        </h2>
        <p class="read">
          ${
            found.samples_step === null
              ? html`
                  None recorded yet. ${" "}
                  <code>run.log_samples(step=..., samples=[...])</code>
                  ${" "} keeps what the model wrote.
                `
              : "This step has none."
          }
        </p>
      </section>
    `;
  return html`
    <section class="card block">
      <h2>
        Best, median, worst ${" "}
        <span>step ${count(found.samples_step)}</span>
      </h2>
      ${SampleLine && found.samples.map((p) => h(SampleLine, { sample: p.sample, label: p.label, range: found.reward_range, open: () => go({ open: `sample:${p.sample.id}` }) }))}
    </section>
  `;
}

/** @param {{found: OverviewShape}} props */
function ConfigBlock({ found }) {
  if (!found.facts.length) return null;
  return html`
    <section class="card block" style=${{ marginTop: "12px" }}>
      <h2>Configuration</h2>
      <dl class="config">
        ${found.facts.map(
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
