/** Details of a task of an evaluation: its repeats step by step, and two answers side by side. */

import { useEffect, useState } from "preact/hooks";
import { pairOf } from "../../base/evals/task-rows.js";
import { diff } from "../../base/samples/diff.js";
import { count, number, plural } from "../../base/text/format.js";
import { PassCurve } from "../../evals/pass-curve.js";
import { shadeOf } from "../../evals/words.js";
import { go, href, view } from "../../state.js";
import { part } from "../../wire/api.js";
import { h, html } from "../html.js";
import { ModelText } from "../model-text.js";
import { numberOf, useAnswer } from "../use-answer.js";

/** @typedef {import("../../wire/types.gen").TaskShape} TaskShape */
/** @typedef {import("../../wire/types.gen").RepeatShape} RepeatShape */

/** @param {{id: string, title: (t: string) => void}} props */
export function TaskDetails({ id, title }) {
  const path = `runs/${part(view.value.run)}/evals`;
  const [list] = useAnswer(view.value.name ? "" : path);
  const set = view.value.name || list?.sets[0]?.name || "";
  const score = view.value.view ? `&score=${part(view.value.view)}` : "";
  const [task, error] = useAnswer(set ? `${path}/task?set=${part(set)}&task=${part(id)}${score}` : "");
  useEffect(() => title(`Task ${id}`), [id]);
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  if (!task) return null;
  const steps = [...new Set(/** @type {TaskShape} */ (task).repeats.map((r) => r.step))];
  const [before, after] = pairOf(steps, view.value.range);
  return html`
    ${
      task.tags.length || task.cluster
        ? html`
            <p class="read ink3">
              ${[...task.tags, task.cluster ? `cluster ${task.cluster}` : ""].filter(Boolean).join(", ")}
            </p>
          `
        : null
    }
    ${h(Prompt, { repeats: task.repeats })} ${h(Seen, { id, set, path })} ${h(Strip, { task, steps, before, after })}
    <div class="two-answers">${h(Answers, { task, before, after, key: `${id} ${before} ${after}` })}</div>
    ${h(PassCurve, { path, set, score, before, after })}
    ${h(OneStep, { task, steps, pair: [before, after], key: `${id} ${view.value.step}` })}
  `;
}

/** @param {{repeats: RepeatShape[]}} props */
function Prompt({ repeats }) {
  const sample = repeats.findLast((r) => r.sample !== null)?.sample;
  const [s] = useAnswer(sample ? `runs/${part(view.value.run)}/samples/${part(sample)}` : "");
  if (!s?.prompt) return null;
  const expected = s.golden_answer ?? s.golden ?? null;
  return html`
    <section class="task-prompt">
      ${h(ModelText, { text: String(s.prompt), most: 4000 })}
      ${
        expected === null
          ? null
          : html`
              <p class="read ink3">
                Expected ${" "}
                <span class="model">${String(expected)}</span>
              </p>
            `
      }
    </section>
  `;
}

/** Whether training has seen the task's prompt, and where.
 * @param {{id: string, set: string, path: string}} props */
function Seen({ id, set, path }) {
  const [answer] = useAnswer(`${path}/overlap?set=${part(set)}`);
  const overlap = /** @type {import("../../wire/types.gen").OverlapShape | null} */ (answer);
  if (!overlap?.prompts) return null;
  const first = overlap.samples[id];
  if (!first)
    return html`
      <p class="read ink3">Not among the ${plural(overlap.prompts, "training prompt")}.</p>
    `;
  const how = overlap.exact.includes(id) ? "word for word" : "nearly";
  return html`
    <p class="read trained-on">
      Training has seen this prompt, ${how}: ${" "}
      <a href=${href({ page: "rollouts", step: first.step, sample: first.sample, open: "", range: null })}>
        a sample of step ${count(first.step)}
      </a>
    </p>
  `;
}

/** Every repeat at every step.
 * @param {{task: TaskShape, steps: number[], before: number, after: number}} props */
const Strip = ({ task, steps, before, after }) => html`
  <section>
    <h3>Its repeats, step by step</h3>
    <div class="task-strip">
      ${steps.map(
        (s) => html`
          <button
            type="button"
            class=${s === before || s === after || s === view.value.step ? "on" : ""}
            title=${`Read the answers of step ${count(s)}`}
            onClick=${() => go({ step: s }, "replace")}>
            ${task.repeats.filter((r) => r.step === s).map((r) => h(Chip, { r }))}
            <span class="n">${number(s)}</span>
          </button>
        `,
      )}
    </div>
  </section>
`;

/** @param {{r: RepeatShape}} props */
function Chip({ r }) {
  const v = r.score === null ? NaN : numberOf(r.score);
  const look = r.failed ? "r hatched" : shadeOf(v, 0, 1) < 0 ? "r absent" : `r r${shadeOf(v, 0, 1)}`;
  const says = r.failed ? "failed" : Number.isNaN(v) ? "no score" : number(v);
  return html`
    <i class=${look} title=${`repeat ${r.repeat < 0 ? "without a number" : r.repeat}: ${says}`}></i>
  `;
}

/** The repeats of the cell that was clicked, if it is not of the two steps above.
 * @param {{task: TaskShape, steps: number[], pair: number[]}} props */
function OneStep({ task, steps, pair }) {
  const { step } = view.value;
  if (step === null || !steps.includes(step) || pair.includes(step)) return null;
  return html`
    <div class="two-answers">${h(Answers, { task, before: step, after: step })}</div>
  `;
}

/** @param {{task: TaskShape, before: number, after: number}} props */
function Answers({ task, before, after }) {
  const of = (/** @type {number} */ s) => task.repeats.filter((r) => r.step === s);
  const [pick, setPick] = useState([0, 0]);
  const [left, right] = [of(before)[pick[0] ?? 0], of(after)[pick[1] ?? 0]];
  const a = useText(left?.sample ?? null);
  const b = useText(right?.sample ?? null);
  const [gone, come] = a !== null && b !== null && before !== after ? diff(a, b) : [[], []];
  const side = (
    /** @type {number} */ n,
    /** @type {number} */ step,
    /** @type {RepeatShape | undefined} */ r,
    /** @type {string | null} */ text,
    /** @type {[number, number][]} */ marks,
  ) => html`
    <section class="answer">
      <header>
        <b>Step ${count(step)}</b>
        ${" "}
        <span class="ink3 n">${r ? outcome(r) : "not tried"}</span>
        <span class="picks">
          ${of(step).map(
            (one, i) => html`
              <button
                type="button"
                aria-label=${`Repeat ${i + 1} of ${plural(of(step).length, "repeat")}`}
                aria-pressed=${String(i === pick[n])}
                onClick=${() => setPick(n ? [pick[0] ?? 0, i] : [i, pick[1] ?? 0])}>
                ${h(Chip, { r: one })}
              </button>
            `,
          )}
        </span>
      </header>
      ${
        r?.answer
          ? html`
              <p class="read">
                answers ${" "}
                <b class="model">${r.answer}</b>
              </p>
            `
          : null
      }
      ${
        text === null
          ? html`
              <p class="read ink3">${r?.sample ? "" : "Its text was not recorded."}</p>
            `
          : h(Marked, { text, marks })
      }
      ${
        r?.sample
          ? html`
              <p>
                <a href=${href({ page: "rollouts", step, sample: r.sample, open: "", range: null })}>
                  Open in Rollouts
                </a>
              </p>
            `
          : null
      }
    </section>
  `;
  return html`
    ${before === after ? null : side(0, before, left, a, gone)}${side(1, after, right, b, come)}
  `;
}

/** @param {RepeatShape} r */
const outcome = (r) => (r.failed ? "failed" : r.score === null ? "no score" : number(numberOf(r.score)));

/** The completion of a sample; null until it is here.
 * @param {string | null} sample @returns {string | null} */
function useText(sample) {
  const [s] = useAnswer(sample ? `runs/${part(view.value.run)}/samples/${part(sample)}` : "");
  return s && s.id === sample ? String(s.completion ?? "") : null;
}

/** A text with ranges underlined. @param {{text: string, marks: [number, number][]}} props */
function Marked({ text, marks }) {
  const shown = text.slice(0, 20000);
  const parts = [];
  let at = 0;
  for (const [from, to] of marks) {
    if (from >= shown.length) break;
    parts.push(
      shown.slice(at, from),
      html`
        <mark>${shown.slice(from, to)}</mark>
      `,
    );
    at = to;
  }
  parts.push(shown.slice(at));
  return html`
    <div class="model mono answer-text">${parts}</div>
  `;
}
