/** The Marked tab: the sets that people collected, and the marked samples of this run. */

import { useEffect, useState } from "preact/hooks";
import { query } from "../../base/samples/filter-words.js";
import { count, plural } from "../../base/text/format.js";
import { placeOf } from "../../base/text/url.js";
import { h, html } from "../../parts/html.js";
import { ModelLine } from "../../parts/model-text.js";
import { go, view } from "../../state.js";
import { get, part } from "../../wire/api.js";
import { held } from "../../wire/project.js";
import { ramp, score, shade } from "../reward-chips.js";
import { loaded, queryWords } from "../selection.js";
import { idsAsText } from "../view-words.js";
import { WindowedList } from "../windowed-list.js";
import { ExportSamples, ExportSet } from "./export-menu.js";
import { marked, sets } from "./marks.js";

/** @typedef {import("../../wire/types.gen").MarkedSample} MarkedSample */
const ROW = 68;

export function MarkedList() {
  const [found, setFound] = useState(/** @type {import("../../wire/types.gen").MarkedList | null} */ (null));
  const [error, setError] = useState("");
  const run = view.value.run;
  const filters = query(queryWords.value.filter((w) => w.kind === "filter"));
  useEffect(() => {
    const abort = new AbortController();
    get(`runs/${part(run)}/marked${filters ? `?q=${part(filters)}` : ""}`, abort.signal).then(setFound, (e) => {
      if (e.name !== "AbortError") setError(e.message);
    });
    return () => abort.abort();
  }, [run, filters, held.value]);
  if (error)
    return html`
      <p class="nothing">${error}</p>
    `;
  if (!found) return null;
  const list = found.samples;
  const at = list.findIndex((one) => idsAsText([one.id]) === view.value.sample);
  const range = loaded.value?.step.ranges.reward ?? [0, 1];
  return html`
    ${h(Sets, {})}
    ${
      list.length
        ? h(WindowedList, {
            count: list.length,
            row: ROW,
            at,
            label: "Marked samples",
            id: "marked",
            render: (i) =>
              h(Row, { one: /** @type {MarkedSample} */ (list[i]), on: i === at, range, key: list[i]?.id ?? i }),
          })
        : html`
            <p class="nothing">${nothing(Boolean(filters))}</p>
          `
    }
    <div class="foot">
      <span class="n cut">
        ${plural(list.length, "sample")}${found.missing ? `, ${count(found.missing)} no longer recorded` : ""}
      </span>
      <span class="gap"></span>
      ${h(ExportSamples, { ids: () => list.map((one) => one.id), name: "marked-samples" })}
    </div>
  `;
}

/** @param {boolean} filtered */
const nothing = (filtered) =>
  filtered && marked.value.size
    ? "No marked sample passes the filters. Remove a filter."
    : "No sample of this run is marked. Star one with b, label it with a.";

function Sets() {
  const list = [...sets.value];
  if (!list.length) return null;
  return html`
    <ul class="sets">
      ${list.map(
        ([name, n]) => html`
          <li key=${name} data-set=${name}>
            <span class="cut">${h(ModelLine, { text: name })}</span>
            <span class="n ink3">${plural(n, "sample")}</span>
            ${h(ExportSet, { name })}
          </li>
        `,
      )}
    </ul>
  `;
}

/** @param {{one: MarkedSample, on: boolean, range: number[]}} props */
function Row({ one, on, range }) {
  const reward = typeof one.reward === "number" ? one.reward : NaN;
  const words = [...one.labels, ...one.sets.map((set) => `in ${set}`)].join(", ");
  const open = () => go({ ...placeOf(one.step), group: one.group, sample: idsAsText([one.id]) });
  return html`
    <div
      class=${on ? "group hit at" : "group hit"}
      role="option"
      aria-selected=${String(on)}
      data-marked=${one.id}
      onClick=${open}>
      <div class="under">
        <i class=${ramp(shade(reward, range[0] ?? 0, range[1] ?? 1))}></i>
        <span class="n">${score(reward)}</span>
        <span class="ink3 n">step ${one.step === null ? "–" : count(one.step)}</span>
        <span class="cut">${one.star ? "★ " : ""}${h(ModelLine, { text: words })}</span>
      </div>
      <div class="cut">${h(ModelLine, { text: one.prompt })}</div>
      <div class="cut ink3">${h(ModelLine, { text: one.comments.join(" · ") })}</div>
    </div>
  `;
}
