/** The right pane: why the reward moved since the previous step, the facts of the selected sample,
 * and the same prompt at other steps. */

import { tagText } from "../base/samples/tags.js";
import { useEffect, useState } from "preact/hooks";
import { count, duration, number } from "../base/text/format.js";
import { EVAL, fateOf } from "../base/samples/step-samples.js";
import { spelled } from "../base/text/model-text.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { go } from "../state.js";
import { get, part } from "../wire/api.js";
import { ramp, shade } from "./reward-chips.js";
import { fate, focus, group, loaded, opened, rangeStart } from "./selection.js";
import { idsAsText } from "./view-words.js";
import {
  WhyGroups,
  WhyKinds,
  between,
  findTask,
  moved,
  nothingToCompare,
  overRanges,
  signed,
  useWhy,
} from "./why-moved.js";
import { WhyRanges, useRanges } from "./why-ranges.js";

const METRICS = { trained: "reward/trained/mean", dropped: "discarded/reward/mean", all: "reward/mean", eval: "" };

export function SampleFacts() {
  const s = loaded.value?.step;
  const step = s?.step ?? null;
  const sample = opened.value.get(s?.ids[focus()] ?? "");
  const metric = METRICS[fate.value];
  // An evaluation does not explain the training reward.
  const evaluated = s && fateOf(s, focus()) === EVAL;
  const explained = step !== null && metric && !evaluated;
  const over = fate.value === "all" ? "all" : "";
  return html`
    <aside class="side" aria-label="About this step and sample">
      ${explained ? h(Moved, { metric, over, step, ask: Boolean(sample), key: metric }) : null}
      ${sample ? h(About, { sample }) : null}
      ${group.value && step !== null && sample ? h(SamePrompt, { task: sample.task ?? "", step }) : null}
    </aside>
  `;
}

/** Why the mean reward of the list moved. It is requested after the sample's text.
 * @param {{metric: string, over: "" | "all", step: number, ask: boolean}} props */
function Moved({ metric, over, step, ask }) {
  const from = rangeStart.value;
  const [more, setMore] = useState(false);
  const against = from !== null && from < step ? Math.round(from) : null;
  const [ranges, choose] = useRanges();
  const [why, error] = useWhy(ask ? (loaded.value?.run ?? "") : "", metric, step, against, 5, over, ranges);
  if (!why)
    return html`
      <section class="block-side">
        <h2>Why reward moved</h2>
        ${
          error
            ? html`
                <p class="read ink3">${error}</p>
                ${h(WhyRanges, { step, ranges, choose })}
              `
            : null
        }
      </section>
    `;
  return html`
    <section class="block-side why" data-why=${why.step}>
      <h2>
        Why reward moved ${" "}
        <span class="n">${between(why)}</span>
      </h2>
      ${h(WhyRanges, { step, ranges, choose })}
      <dl class="facts n">
        <dt>Mean reward</dt>
        <dd>${number(why.before)} → ${number(why.now)}</dd>
        <dt>Change</dt>
        <dd class=${moved(why)}>${signed(why.change)}</dd>
      </dl>
      ${
        why.change === null
          ? html`
              <p class="read ink3">${nothingToCompare(why)}</p>
            `
          : html`
              <h3>${overRanges(why) ? "Prompts" : "Groups"} that moved it most</h3>
            `
      }${h(WhyGroups, { why, open: overRanges(why) ? findTask : (name) => go({ group: name, sample: "" }, "replace") })}
      ${
        Object.keys(why.kinds).length
          ? html`
              <button class="link small" type="button" aria-expanded=${String(more)} onClick=${() => setMore(!more)}>
                ${more ? "Less" : `By ${Object.keys(why.kinds).join(", ")}`}
              </button>
              ${more ? h(WhyKinds, { why }) : null}
            `
          : null
      }
    </section>
  `;
}

/** @param {string} text */
const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
/** @param {any} v */
const value = (v) =>
  typeof v === "number"
    ? number(v)
    : v === null || v === undefined
      ? "–"
      : typeof v === "object"
        ? JSON.stringify(v)
        : String(v);
/** The mean of the known values, or null. @param {(number | null)[] | null | undefined} list */
const meanOf = (list) => {
  const known = (list ?? []).filter((v) => v !== null);
  return known.length
    ? known.reduce((a, b) => /** @type {number} */ (a) + /** @type {number} */ (b), 0) / known.length
    : null;
};

/** The sampler gap as k3, which is never negative: the mean of exp(d) - 1 - d with d = logp -
 * rollout logp.
 * @param {any} s */
function gap(s) {
  const logp = s.logp ?? s.old_logp;
  return logp && s.rollout_logp
    ? meanOf(
        logp.map((/** @type {number | null} */ v, /** @type {number} */ i) => {
          const r = s.rollout_logp[i];
          return v === null || r === null || r === undefined ? null : Math.exp(v - r) - 1 - (v - r);
        }),
      )
    : null;
}

/** @param {{sample: any}} props */
function About({ sample: s }) {
  const versions =
    s.policy_version_max === null
      ? ""
      : s.policy_version_min === s.policy_version_max || s.policy_version_min === null
        ? count(s.policy_version_max)
        : `${count(s.policy_version_min)} to ${count(s.policy_version_max)}`;
  const times = [
    ["Generated in", s.generate_seconds],
    ["Tools took", s.tool_seconds || null],
    ["Scored in", s.reward_seconds],
  ];
  /** @type {[string, string][]} */
  const rows = [
    ...Object.entries(s.rewards ?? {}).map(([k, v]) => /** @type {[string, string]} */ ([`Reward, ${k}`, value(v)])),
    ...Object.entries(s.sample_metrics ?? {})
      .filter(([k]) => !(k in (s.rewards ?? {})))
      .map(([k, v]) => /** @type {[string, string]} */ ([capital(k.replaceAll("_", " ")), value(v)])),
    ...Object.entries(s.scans ?? {}).map(
      ([k, v]) => /** @type {[string, string]} */ ([`Scan, ${k}`, typeof v === "string" ? v : value(v)]),
    ),
    ...(s.score !== null && s.score !== s.reward ? [/** @type {[string, string]} */ (["Score", value(s.score)])] : []),
    [
      "Policy version",
      versions ? `${versions}${s.off_policy_steps ? ` (${count(s.off_policy_steps)} behind)` : ""}` : "",
    ],
    ...times.map(([k, v]) => /** @type {[string, string]} */ ([k, v === null ? "" : duration(v)])),
    ["Turns", s.turns === null || s.turns < 2 ? "" : count(s.turns)],
    [
      "Tool calls",
      s.tool_calls ? `${count(s.tool_calls)}${s.tool_failures ? `, ${count(s.tool_failures)} failed` : ""}` : "",
    ],
    ["Mean logprob", meanOf(s.logp ?? s.rollout_logp) === null ? "" : number(meanOf(s.logp ?? s.rollout_logp))],
    ["Sampler gap, k3", gap(s) === null ? "" : number(gap(s))],
    ["Prompt tokens", s.prompt_tokens === null ? "" : count(s.prompt_tokens)],
    ["Environment", s.env ?? ""],
    [
      "Trained on",
      s.split === "eval"
        ? "no, an evaluation"
        : s.trained === null
          ? "not yet known"
          : s.trained
            ? "yes"
            : `no${s.discard_reason ? `, ${s.discard_reason.replaceAll("_", " ")}` : ""}`,
    ],
    ["Tags", tagText(s.tags)],
    ["Sample", s.id],
  ];
  return html`
    <section class="block-side">
      <h3>This sample</h3>
      <dl class="facts n">
        ${rows
          .filter(([, v]) => v !== "")
          .map(
            ([k, v]) => html`
              <dt>${h(ModelLine, { text: k })}</dt>
              <dd>${h(ModelLine, { text: v })}</dd>
            `,
          )}
      </dl>
    </section>
  `;
}

/** Visits of the same prompt. @param {{task: string, step: number}} props */
function SamePrompt({ task, step }) {
  const [history, setHistory] = useState(/** @type {any} */ (null));
  const run = loaded.value?.run ?? "";
  useEffect(() => {
    const abort = new AbortController();
    if (task && task.isWellFormed() && task.length < 4000)
      get(`runs/${part(run)}/prompts/visits?task=${part(task)}&near=${step}`, abort.signal).then(setHistory, () => {});
    else setHistory(null);
    return () => abort.abort();
  }, [run, task, step]);
  const range = loaded.value?.step.ranges.reward ?? [0, 1];
  const list = (history?.visits ?? []).slice(-12);
  if (!list.length) return null;
  return html`
    <section class="block-side">
      <h3>
        Same prompt at other
        steps${
          history.total > list.length
            ? html`
                ${" "}
                <span class="n">${count(history.total)} visits</span>
              `
            : ""
        }
      </h3>
      <div class="visits n">
        ${list.map(
          (/** @type {any} */ v) => html`
            <button
              class=${v.step === step && v.group === group.value?.name ? "visit at" : "visit"}
              type="button"
              title=${`step ${v.step}`}
              onClick=${() => go({ step: v.step, group: v.group, sample: "" })}>
              <span>${count(v.step)}</span>
              <span class=${v.samples.length > 12 ? "chips small" : "chips"}>
                ${[...v.samples]
                  .sort((a, b) => (b[1] ?? -Infinity) - (a[1] ?? -Infinity))
                  .slice(0, 64)
                  .map(
                    ([id, r]) => html`
                      <i
                        class=${ramp(shade(r ?? NaN, range[0], range[1]))}
                        title=${spelled(`${id}: ${number(r)}`)}
                        onClick=${(/** @type {Event} */ e) => {
                          e.stopPropagation();
                          go({ step: v.step, group: v.group, sample: idsAsText([id]) });
                        }}></i>
                    `,
                  )}
              </span>
            </button>
          `,
        )}
      </div>
    </section>
  `;
}
