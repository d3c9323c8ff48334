/** Panels of a board that are no charts of metrics: text, samples of the step, an answer to SQL. */

import { useEffect, useState } from "preact/hooks";
import { cells, choiceOf } from "../base/text/sql-answer.js";
import { SqlChart } from "../parts/cards/sql-chart.js";
import { SqlTable } from "../parts/cards/sql-table.js";
import { h, html } from "../parts/html.js";
import { SampleRow } from "../parts/sample-row.js";
import { useAnswer } from "../parts/use-answer.js";
import { go, step, ticks, view } from "../state.js";
import { part, post } from "../wire/api.js";

/** @typedef {import("../base/text/boards.js").Panel} Panel */

const SAMPLES = 6;

/** @param {{panel: Panel}} props */
export const TextPanel = ({ panel }) => html`
  <p class="model panel-text">${panel.text}</p>
`;

/** @param {{panel: Panel}} props */
export function SamplesPanel({ panel }) {
  const { run } = view.value;
  const [answer, error] = useAnswer(
    `runs/${part(run)}/samples?step=${step.value}&order=${panel.order}&limit=${SAMPLES}`,
  );
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  const samples = answer?.samples ?? [];
  if (answer && !samples.length)
    return html`
      <p class="read">No samples at step ${step.value}.</p>
    `;
  return html`
    <div class="panel-samples">
      ${samples.map((/** @type {any} */ sample) =>
        h(SampleRow, {
          sample,
          label: "",
          open: () => go({ open: `sample:${sample.id}` }),
          range: answer.reward_range ?? [0, 1],
          key: sample.id,
        }),
      )}
    </div>
  `;
}

/** @param {{panel: Panel}} props */
export function SqlPanel({ panel }) {
  const { run } = view.value;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    post(`runs/${part(run)}/sql`, { query: panel.query }, abort.signal).then(
      (reply) => {
        setAnswer(reply);
        setError("");
      },
      (e) => {
        if (e.name !== "AbortError") setError(e.message);
      },
    );
    return () => abort.abort();
  }, [run, panel.query, Math.floor(ticks.value / 8)]);
  if (error)
    return html`
      <p class="read bad">${error}</p>
    `;
  if (!answer) return null;
  return html`
    <div class="panel-sql">
      ${choiceOf(answer, "") ? h(SqlChart, { answer }) : h(SqlTable, { columns: cells(answer), rows: answer.rows })}
    </div>
  `;
}
