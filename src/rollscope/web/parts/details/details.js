/** What the drawer shows: a metric and its entry, a point of a chart, a sample, a finding. */

import { useEffect, useState } from "preact/hooks";
import { clock, count, duration, worded } from "../../base/text/format.js";
import { findings, go, href, names, returned, step, tape, view } from "../../state.js";
import { get, part } from "../../wire/api.js";
import { WhyBody } from "../../rollouts/why-moved.js";
import { deeper } from "../frame/drawer.js";
import { Entry } from "../glossary/entry.js";
import { Hiding } from "./hide-finding.js";
import { h, html } from "../html.js";
import { SampleLine } from "../sample-row.js";
import { Status } from "../controls.js";
import { ModelText } from "../model-text.js";

/** @param {any} v */
const number = (v) => (v === "NaN" ? NaN : v === "Infinity" ? Infinity : v === "-Infinity" ? -Infinity : v);

/** Fetch for as long as the question is asked. @param {string} path @returns {[any, string]} */
export function useAnswer(path) {
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    setError("");
    if (path)
      get(path, abort.signal).then(setAnswer, (e) => {
        if (e.name !== "AbortError") {
          setAnswer(null);
          setError(e.message);
        }
      });
    return () => abort.abort();
  }, [path, returned.value]);
  return [answer, error];
}

/** @param {{id: string, title: (t: string) => void}} props */
export function EntryBody({ id, title }) {
  const framework = "";
  const [answer, error] = useAnswer(`glossary/entry?name=${part(id)}${framework}`);
  useEffect(() => title(id), [id]);
  const info = names.value?.find((m) => m.name === id);
  if (error)
    return html`
      <p class="read">
        The catalogue has no entry for this name, so it is shown as it was
        logged${info ? `: ${count(info.count)} points, ${info.kind}` : ""}.
      </p>
      <p class="read ink3">${error}</p>
    `;
  if (!answer) return null;
  return h(Entry, { answer, short: true });
}

/** @param {{id: string, title: (t: string) => void}} props */
export function PointBody({ id, title }) {
  const run = view.value.run;
  const at = step.value;
  const [p, error] = useAnswer(`runs/${part(run)}/point?name=${part(id)}&step=${at}`);
  const [list] = useAnswer(p ? `runs/${part(run)}/samples?step=${p.step}&order=worst&limit=6` : "");
  useEffect(() => title(`${id}, step ${count(at)}`), [id, at]);
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  if (!p) return null;
  const mine = findings.value.filter((f) => f.metrics.includes(id));
  const change = number(p.change);
  return html`
    <dl class="facts n">
      <dt>Value</dt>
      <dd><b>${worded(number(p.value), p.unit)}</b></dd>
      ${
        p.step !== at
          ? html`
              <dt>Logged at</dt>
              <dd>step ${count(p.step)}, nearest to ${count(at)}</dd>
            `
          : null
      }
      ${
        p.weight !== null
          ? html`
              <dt>Over</dt>
              <dd>${count(number(p.weight))} ${p.counted}</dd>
            `
          : null
      }
      ${
        p.before_step !== null
          ? html`
              <dt>Change since ${count(p.before_step)}</dt>
              <dd>${change > 0 ? "+" : ""}${worded(change, p.unit)}</dd>
            `
          : null
      }
      ${
        p.ranks.length && number(p.low) !== number(p.high)
          ? html`
              <dt>Over ranks</dt>
              <dd>${worded(number(p.low), p.unit)} to ${worded(number(p.high), p.unit)}</dd>
            `
          : null
      }
      <dt>Logged</dt>
      <dd>${clock(p.time_ns / 1e6, Date.now())}</dd>
      <dt>Reduction</dt>
      <dd>${p.kind}</dd>
    </dl>
    ${
      mine.length
        ? html`
            <section>
              <h3>Findings about it</h3>
              ${mine.map(
                (f) => html`
                  <button class="said" type="button" onClick=${() => deeper(`finding:${f.rule}@${f.step}`)}>
                    ${h(Status, { is: f.severity })}
                    <span>
                      ${f.claim}${" "}
                      <span class="ink3">from step ${count(f.step)}</span>
                    </span>
                  </button>
                `,
              )}
            </section>
          `
        : null
    }
    ${
      p.ranks.length
        ? html`
            <section>
              <h3>By rank</h3>
              ${h(Ranks, { p })}
            </section>
          `
        : null
    }
    ${h(WhyBody, { metric: id, step: p.step, unit: p.unit, key: id })}
    <section>
      <h3>Samples behind it</h3>
      ${
        list?.samples.length
          ? html`
              ${list.samples.map((/** @type {any} */ s) => h(SampleLine, { sample: s, label: "", open: () => deeper(`sample:${s.id}`) }))}
              <p class="small ink3">${count(list.samples.length)} of ${count(list.total)}, worst first</p>
            `
          : html`
              <p class="read">
                No samples of this step were recorded. ${" "}
                <code>run.log_samples(step=..., samples=[...])</code>
                ${" "} keeps them.
              </p>
            `
      }
    </section>
    <p>
      <a
        href=${href({ open: `metric:${id}` })}
        onClick=${(/** @type {Event} */ e) => {
          e.preventDefault();
          deeper(`metric:${id}`);
        }}>
        What this metric is
      </a>
    </p>
  `;
}

/** @param {{id: string, title: (t: string) => void}} props */
export function SampleBody({ id, title }) {
  const [s, error] = useAnswer(`runs/${part(view.value.run)}/samples/${part(id)}`);
  useEffect(() => title(`Sample ${id}`), [id]);
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  if (!s) return null;
  const facts = [
    ["Reward", worded(number(s.reward))],
    ["Advantage", worded(number(s.advantage))],
    ["Step", s.step === null ? "" : count(s.step)],
    ["Group", s.group],
    ["Environment", s.env],
    ["Tokens", s.completion_tokens === null ? "" : count(s.completion_tokens)],
    ["Stopped by", s.stop_reason],
    [
      "Trained on",
      s.trained === null ? "not yet known" : s.trained ? "yes" : `no${s.discard_reason ? `, ${s.discard_reason}` : ""}`,
    ],
    ["Generated in", s.generate_seconds === null ? "" : duration(s.generate_seconds)],
  ];
  return html`
    <dl class="facts n">
      ${facts
        .filter(([, v]) => v && v !== "–")
        .map(
          ([k, v]) => html`
            <dt>${k}</dt>
            <dd class="model">${v}</dd>
          `,
        )}
    </dl>
    ${
      s.group && s.step !== null
        ? html`
            <p>
              <a
                href=${href({ page: "rollouts", step: s.step, group: s.group, sample: s.id.replaceAll("%", "%25").replaceAll(",", "%2C"), view: "all", q: "", sort: "", open: "" })}>
                Beside the rest of its group
              </a>
            </p>
          `
        : null
    }
    ${
      s.prompt
        ? html`
            <section>
              <h3>prompt</h3>
              ${h(ModelText, { text: String(s.prompt) })}
            </section>
          `
        : null
    }
    ${
      s.completion
        ? html`
            <section>
              <h3>completion</h3>
              ${h(ModelText, { text: String(s.completion) })}
            </section>
          `
        : null
    }
    ${
      s.answer
        ? html`
            <section>
              <h3>reference answer</h3>
              ${h(ModelText, { text: String(s.answer) })}
            </section>
          `
        : null
    }
  `;
}

/** Every rank's own value as a bar from the smallest to the largest: the odd one is seen before it is read. @param {{p: import("../../wire/types.gen").PointShape}} props */
function Ranks({ p }) {
  const known = p.ranks.map((r) => number(r.value)).filter(Number.isFinite);
  const [lo, hi] = [Math.min(...known, 0), Math.max(...known, 0)];
  const share = (/** @type {any} */ v) => (Number.isFinite(v) && hi > lo ? (100 * Math.abs(v)) / Math.max(hi, -lo) : 0);
  return html`
    <div class="ranks n">
      ${p.ranks.map(
        (r) => html`
          <span class="ink3">${r.rank}</span>
          <i style=${{ "--w": `${share(number(r.value))}%` }}></i>
          <b>${worded(number(r.value), p.unit)}</b>
          <span class="ink3">${r.weight === null ? "" : `over ${count(number(r.weight))}`}</span>
        `,
      )}
    </div>
  `;
}

/** @param {{id: string, title: (t: string) => void}} props */
export function FindingBody({ id, title }) {
  const [rule, at] = id.split("@");
  const all = tape.value?.findings ?? [];
  const f = all.find((x) => x.rule === rule && String(x.step) === at) ?? all.find((x) => x.rule === rule);
  useEffect(() => title(f?.claim ?? "Finding"), [f?.claim]);
  if (!f)
    return html`
      <p class="read">This finding no longer holds.</p>
    `;
  return html`
    <section>
      <p class="line">
        ${h(Status, { is: f.severity })}${" "}
        <span class="ink3">from step ${count(f.step)}${f.until === null ? ", still so" : ` to ${count(f.until)}`}</span>
      </p>
      <p>${f.evidence}</p>
    </section>
    ${
      f.check.length
        ? html`
            <section>
              <h3>First checks</h3>
              <ol class="checks">
                ${f.check.map(
                  (c) => html`
                    <li>${c}</li>
                  `,
                )}
              </ol>
            </section>
          `
        : null
    }
    ${
      f.teaches
        ? html`
            <section>
              <h3>The rule</h3>
              <p class="read">${f.teaches}</p>
            </section>
          `
        : null
    }
    ${
      f.metrics.length
        ? html`
            <section>
              <h3>Look at</h3>
              ${f.metrics.map(
                (m) => html`
                  <p><a href=${href({ page: "metrics", q: m, open: "", step: f.step })}>${m}</a></p>
                `,
              )}
            </section>
          `
        : null
    }
    <p class="line">
      <button class="button" type="button" onClick=${() => go({ step: f.step }, "replace")}>
        Go to step ${count(f.step)}
      </button>
      <a class="button" href=${href({ page: "rollouts", step: f.until ?? f.step, open: "" })}>See the samples</a>
    </p>
    ${h(Hiding, { f, key: f.rule })}
  `;
}
