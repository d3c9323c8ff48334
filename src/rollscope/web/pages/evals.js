/** Evals: a score over steps with its interval, two steps paired, and every task at every step. */

import { useEffect, useRef, useState } from "preact/hooks";
import { pairOf } from "../base/evals/task-rows.js";
import { unpack } from "../base/chart/points.js";
import { count, plural } from "../base/text/format.js";
import { History } from "../evals/history.js";
import { Paired } from "../evals/paired.js";
import { ORDERS, Tasks } from "../evals/tasks.js";
import { marginOf, signed } from "../evals/words.js";
import { CardPage } from "../parts/cards/card-page.js";
import { Environments } from "../parts/environments.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { go, returned, tape, view } from "../state.js";
import { columns, part } from "../wire/api.js";

/** @typedef {import("../wire/types.gen").SetShape} SetShape */
/** @typedef {import("../base/evals/task-rows.js").Matrix} Matrix */

export const pane = true;

export function Page() {
  const path = `runs/${part(view.value.run)}/evals`;
  const { env } = view.value;
  const [version, setVersion] = useState(-1);
  const [answer, error] = useAnswer(env ? `${path}?env=${part(env)}` : path, version);
  const newest = tape.value?.evals.at(-1)?.step ?? -1;
  useEffect(() => {
    const has = answer && Math.max(-1, ...answer.sets.map((/** @type {SetShape} */ s) => s.steps.at(-1) ?? -1));
    if (answer && newest > has) setVersion(newest);
  }, [answer, newest]);
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!answer) return null;
  if (!answer.sets.length) return env ? h(NoSet, { env }) : h(Cards, {});
  const set = answer.sets.find((/** @type {SetShape} */ s) => s.name === view.value.name) ?? answer.sets[0];
  return html`
    <div class="evals-page">
      ${h(Toolbar, { sets: answer.sets, set })}
      ${set.scores.length ? h(OneSet, { set, path, version, key: set.name }) : h(Unscored, { set })}
    </div>
  `;
}

/** @param {{env: string}} props */
const NoSet = ({ env }) => html`
  <div class="evals-page">
    <div class="eval-tools">${h(Environments, {})}</div>
    <div class="verdict">
      <h1>No evaluation in ${env}</h1>
      <p class="prose">Every evaluation set of this run plays in another environment.</p>
    </div>
  </div>
`;

/** Evaluation metrics of a run that recorded no rows. */
const Cards = () => html`
  <div class="evals-cards">
    ${h(CardPage, {
      fits: (name) => /^(eval|val|val-core|val-aux|test|bench)\//.test(name),
      none: html`
        <h1>No evaluations yet</h1>
        <p class="ink2">
          <code>run.log_eval("gsm8k", step=step, results=[...])</code>
          ${" "} draws this page.
        </p>
      `,
    })}
  </div>
`;

/** @param {{set: SetShape}} props */
const Unscored = ({ set }) => html`
  <div class="verdict">
    <h1>${plural(set.tasks, "task")}, no score</h1>
    <p class="prose">
      Every repeat of this set failed, or its rows have no scores. A row has ${" "}
      <code>{"scores": {"accuracy": 1.0}}</code>
      .
    </p>
  </div>
`;

/** @param {{sets: SetShape[], set: SetShape}} props */
function Toolbar({ sets, set }) {
  const size = (/** @type {SetShape} */ s) => `${count(s.tasks)} × ${count(s.repeats)}`;
  return html`
    <div class="eval-tools">
      <div class="seg" role="group" aria-label="Evaluation set">
        ${sets.map(
          (s) => html`
            <button
              type="button"
              aria-pressed=${String(s.name === set.name)}
              onClick=${() => go({ name: s.name, view: "", open: "", q: "" })}>
              <span class="model">${s.name}</span>
              ${" "}
              <span class="ink3 n">${size(s)}</span>
              ${
                s.change === null
                  ? null
                  : html`
                      ${" "}
                      <span class=${s.significant ? "n sure" : "n ink3"}>
                        ${signed(/** @type {number} */ (s.change), isGraded(s))}
                      </span>
                    `
              }
            </button>
          `,
        )}
      </div>
      ${
        set.scores.length > 1
          ? html`
              <select
                aria-label="Score"
                value=${view.value.view || set.score}
                onChange=${(/** @type {any} */ e) => go({ view: e.target.value }, "replace")}>
                ${set.scores.map(
                  (s) => html`
                    <option value=${s}>${s}</option>
                  `,
                )}
              </select>
            `
          : null
      }
      ${h(Environments, {})}
    </div>
  `;
}

/** @param {SetShape} s */
const isGraded = (s) => s.mean.every((v) => v === null || (Number(v) >= 0 && Number(v) <= 1));

/** @param {{set: SetShape, path: string, version: number}} props */
function OneSet({ set: first, path, version }) {
  const score = view.value.view && first.scores.includes(view.value.view) ? view.value.view : first.score;
  const asked = `set=${part(first.name)}&score=${part(score)}`;
  const [other] = useAnswer(score === first.score ? "" : `${path}/set?${asked}`, version);
  const set = score === first.score ? first : (other?.sets[0] ?? null);
  const m = useMatrix(`${path}/matrix?${asked}`, version);
  const [before, after] = pairOf(first.steps, view.value.range);
  const margin = marginOf(view.value.margin, isGraded(first));
  const [pair, error] = useAnswer(`${path}/pair?${asked}&before=${before}&after=${after}&margin=${margin}`, version);
  const plot = useRef(/** @type {SVGSVGElement | null} */ (null));
  const scrolled = (/** @type {number} */ left) => {
    if (plot.current) plot.current.style.transform = `translateX(${-left}px)`;
  };
  const [overlap] = useAnswer(m ? `${path}/overlap?set=${part(first.name)}` : "", version);
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!set || !m || !pair) return null;
  const pick = (/** @type {number} */ a, /** @type {number} */ b) =>
    a !== b && go({ range: [Math.min(a, b), Math.max(a, b)] }, "replace");
  const show = (/** @type {string} */ kind) => {
    if (ORDERS.some(([order]) => order === kind)) go({ sort: kind }, "replace");
  };
  const one = first.steps.length < 2;
  const file = `${path}/tasks?${asked}&before=${before}&after=${after}`;
  return html`
    ${one ? null : h(Paired, { pair, graded: m.graded, steps: first.steps, pick, show })}
    ${h(History, { set, graded: m.graded, before, after, plot })}
    ${h(Tasks, { m, pair, before, after, choose: pick, scrolled, file, overlap })}
  `;
}

/** @param {string} path @param {unknown} version @returns {Matrix | null} */
function useMatrix(path, version) {
  const [m, setM] = useState(/** @type {Matrix | null} */ (null));
  useEffect(() => {
    const abort = new AbortController();
    columns(path, abort.signal).then(
      (buffer) => {
        const { head, columns: c } = unpack(buffer);
        setM({ ...head, mean: c.mean, failed: c.failed });
      },
      () => {}, // the pair, asked for at the same time, says what is wrong
    );
    return () => abort.abort();
  }, [path, version, returned.value]);
  return m;
}
