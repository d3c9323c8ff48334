/** What a search over the run has found so far, newest steps first, as far as it passes the filter words. It can be stopped, and leaving it stops it. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { count } from "../base/text/format.js";
import { query } from "../base/samples/filter-words.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { go, view } from "../state.js";
import { part, stream } from "../wire/api.js";
import { eachLine } from "../wire/lines.js";
import { ramp, score, shade } from "./reward-chips.js";
import { fate, held, idsAsText, queryWords } from "./selection.js";
import { Windowed } from "./windowed-list.js";

/** @typedef {{id: string, step: number | null, group: string, reward: number | null, where: string, before: string, match: string, after: string}} Hit */
/** @typedef {{hits: Hit[], state: "looking" | "stopped" | "all" | "cut", error: string}} Found */
const ROW = 68;
/** What has been found, for the keys. */
const listed = signal(/** @type {Hit[]} */ ([]));

/** @param {Hit} hit @param {"push" | "replace"} [how] */
const openHit = (hit, how) =>
  go({ step: hit.step ?? view.value.step, group: hit.group, sample: idsAsText([hit.id]) }, how);

/** To the next hit, or the one before. @param {number} by */
export function moveHit(by) {
  const at = listed.value.findIndex((hit) => idsAsText([hit.id]) === view.value.sample);
  const next = listed.value[Math.max(0, Math.min(listed.value.length - 1, at + by))];
  if (next) openHit(next, "replace");
}

/** @param {{text: string}} props */
export function Hits({ text }) {
  const [found, setFound] = useState(/** @type {Found} */ ({ hits: [], state: "looking", error: "" }));
  const [abort, setAbort] = useState(/** @type {AbortController | null} */ (null));
  const run = view.value.run;
  const filters = query(queryWords.value.filter((w) => w.kind === "filter"));
  const only = fate.value === "all" ? "" : fate.value;
  useEffect(() => {
    const control = new AbortController();
    setAbort(control);
    const now = /** @type {Found} */ ({ hits: [], state: "looking", error: "" });
    setFound(now);
    let due = 0; // lines that came together are drawn together
    const draw = () => {
      due ||= setTimeout(() => {
        due = 0;
        setFound({ ...now });
      }, 0);
    };
    look(run, text, `${filters ? `&q=${part(filters)}` : ""}${only ? `&fate=${only}` : ""}`, control.signal, (line) => {
      take(now, line);
      draw();
    }).catch((e) => {
      now.state = "stopped";
      now.error = e.name === "AbortError" ? "" : e.message;
      draw();
    });
    return () => {
      control.abort();
      clearTimeout(due);
      due = -1; // and nothing more is
    };
  }, [run, text, filters, only]);
  const first = found.hits[0];
  useEffect(() => {
    if (first && !view.peek().sample && !view.peek().group) openHit(first, "replace");
  }, [first]); // there is always a selection
  useEffect(() => {
    listed.value = found.hits;
    return () => {
      listed.value = [];
    };
  }, [found]);
  const at = found.hits.findIndex((hit) => idsAsText([hit.id]) === view.value.sample);
  const range = held.value?.step.ranges.reward ?? [0, 1];
  return html`
    <div class="said n" data-search-state=${found.state}>
      ${found.error || `${count(found.hits.length)} ${found.hits.length === 1 ? "sample" : "samples"}${found.state === "cut" ? " and more" : ""}${found.state === "all" ? (filters || only ? " in the run pass the filters" : " in the run") : found.state === "looking" ? " so far" : found.state === "stopped" ? ", stopped" : ""}`}
      <span class="gap"></span>
      ${
        found.state === "looking"
          ? html`
              <button class="button small" type="button" onClick=${() => abort?.abort()}>Stop</button>
            `
          : null
      }
    </div>
    ${
      found.hits.length
        ? h(Windowed, {
            count: found.hits.length,
            row: ROW,
            at,
            label: "Samples found",
            render: (i) =>
              h(Row, { hit: /** @type {Hit} */ (found.hits[i]), on: i === at, range, key: found.hits[i]?.id ?? i }),
          })
        : found.state === "all"
          ? html`
              <p class="nothing">
                ${filters || only ? "No sample of this run contains it and passes the filters. Remove a word to widen the search." : "No sample of this run contains it."}
              </p>
            `
          : null
    }
  `;
}

/** @param {{hit: Hit, on: boolean, range: number[]}} props */
function Row({ hit, on, range }) {
  return html`
    <div
      class=${on ? "group hit at" : "group hit"}
      role="option"
      aria-selected=${String(on)}
      data-hit=${hit.id}
      onClick=${() => openHit(hit)}>
      <div class="under">
        <i class=${ramp(shade(hit.reward ?? NaN, range[0] ?? 0, range[1] ?? 1))}></i>
        <span class="n">${score(hit.reward ?? NaN)}</span>
        <span class="ink3 n">step ${hit.step === null ? "–" : count(hit.step)}, ${hit.where}</span>
      </div>
      <div class="two">
        ${hit.before ? "…" : ""}${h(ModelLine, { text: hit.before })}
        <mark>${h(ModelLine, { text: hit.match })}</mark>
        ${h(ModelLine, { text: hit.after })}…
      </div>
    </div>
  `;
}

/** @param {Found} now @param {any} line */
function take(now, line) {
  if (line.hit) now.hits.push(line.hit);
  if (line.end) now.state = line.cut ? "cut" : "all";
}

/** @param {string} run @param {string} text @param {string} narrowed @param {AbortSignal} abort @param {(line: any) => void} tell */
async function look(run, text, narrowed, abort, tell) {
  await eachLine(await stream(`runs/${part(run)}/search?text=${part(text)}&limit=10000${narrowed}`, abort), tell);
}
