/** The hits of a search over the run, newest steps first, that pass the filter words. The list
 * grows while the search runs; a button or leaving the list stops it. The lists of samples count
 * the hits, a strip shows their steps, and they can be marked and exported together. */

import { computed, signal } from "@preact/signals";
import { useCallback, useEffect, useLayoutEffect, useState } from "preact/hooks";
import { count, plural } from "../../base/text/format.js";
import { query } from "../../base/samples/filter-words.js";
import { placeOf } from "../../base/text/url.js";
import { h, html } from "../../parts/html.js";
import { ModelLine } from "../../parts/model-text.js";
import { go, lastStep, tape, view } from "../../state.js";
import { part, stream } from "../../wire/api.js";
import { eachLine } from "../../wire/lines.js";
import { ExportSamples } from "../kept/export-menu.js";
import { marking } from "../kept/marks.js";
import { firstWords, previewPrompts } from "../loading.js";
import { ramp, score, shade } from "../reward-chips.js";
import { fate, loaded, queryWords } from "../selection.js";
import { idsAsText } from "../view-words.js";
import { WindowedList } from "../windowed-list.js";
import { HitStrip } from "./hit-strip.js";

/** @typedef {{id: string, step: number | null, group: string, fate: string, reward: number | null,
 *   where: string, before: string, match: string, after: string}} Hit */
/** @typedef {import("../../base/samples/step-samples.js").Fate} Fate */
/** @typedef {{hits: Hit[], state: "looking" | "stopped" | "all" | "cut", error: string}} Search */
const ROW = 84;
const PACE = 100; // ms between two drawings of a list that grows
const ENDS = [" in the run", " in the run pass the filters"];
/** All hits so far, and those of the list on the screen. */
const hits = signal(/** @type {Hit[]} */ ([]));
const listed = computed(() => hits.value.filter((hit) => inList(hit, fate.value)));
/** How many hits each list has. */
export const hitCounts = computed(() => {
  const of = (/** @type {Fate} */ list) => hits.value.filter((hit) => inList(hit, list)).length;
  return { trained: of("trained"), dropped: of("dropped"), all: of("all"), eval: of("eval") };
});
/** @param {Hit} hit @param {Fate} list */
const inList = (hit, list) => list === "all" || hit.fate === list;

/** Open the sample of a hit. @param {Hit} hit @param {"push" | "replace"} [how] */
const openHit = (hit, how) => go({ ...placeOf(hit.step), group: hit.group, sample: idsAsText([hit.id]) }, how);

/** Go to the next hit (1) or the one before (-1). @param {number} by */
export function moveHit(by) {
  const at = listed.value.findIndex((hit) => idsAsText([hit.id]) === view.value.sample);
  const next = listed.value[Math.max(0, Math.min(listed.value.length - 1, at + by))];
  if (next) openHit(next, "replace");
}

/** @param {{text: string}} props */
export function SearchHits({ text }) {
  const [search, setSearch] = useState(/** @type {Search} */ ({ hits: [], state: "looking", error: "" }));
  const [abort, setAbort] = useState(/** @type {AbortController | null} */ (null));
  const run = view.value.run;
  const filters = query(queryWords.value.filter((w) => w.kind === "filter"));
  useEffect(() => {
    const control = new AbortController();
    setAbort(control);
    const now = /** @type {Search} */ ({ hits: [], state: "looking", error: "" });
    setSearch(now);
    let [due, drawn] = [0, -PACE]; // lines that arrive together are drawn together
    const draw = () => {
      due ||= setTimeout(
        () => {
          [due, drawn] = [0, performance.now()];
          setSearch({ ...now });
        },
        drawn + PACE - performance.now(),
      );
    };
    const narrowed = filters ? `&q=${part(filters)}` : "";
    look(run, text, narrowed, control.signal, (line) => {
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
      due = -1; // draw no more
    };
  }, [run, text, filters]);
  useLayoutEffect(() => {
    // In the frame that says how the search ended, not one later.
    hits.value = search.hits.slice();
    return () => {
      hits.value = [];
    };
  }, [search]);
  const list = listed.value;
  const first = list[0];
  useEffect(() => {
    if (first && !view.peek().sample && !view.peek().group) openHit(first, "replace");
  }, [first]); // something is always selected
  const seen = useCallback(
    (/** @type {number} */ a, /** @type {number} */ b) => previewPrompts(list.slice(a, b).map((hit) => hit.id)),
    [list],
  );
  const at = list.findIndex((hit) => idsAsText([hit.id]) === view.value.sample);
  const range = loaded.value?.step.ranges.reward ?? [0, 1];
  const narrow = Boolean(filters || fate.value !== "all");
  const openStep = (/** @type {number} */ at) => {
    const hit = list.find((one) => one.step === at);
    if (hit) openHit(hit);
  };
  const ending = { looking: " so far", stopped: ", stopped", cut: " and more", all: ENDS[Number(narrow)] }[
    search.state
  ];
  return html`
    <div class="said n" data-search-state=${search.state}>
      ${search.error || `${plural(list.length, "sample")}${ending}`}
      <span class="gap"></span>
      ${
        search.state === "looking"
          ? html`
              <button class="button small" type="button" onClick=${() => abort?.abort()}>Stop</button>
            `
          : null
      }
    </div>
    ${h(HitStrip, { hits: list, first: tape.value?.first ?? 0, last: lastStep.value, open: openStep })}
    ${
      list.length
        ? h(WindowedList, {
            count: list.length,
            row: ROW,
            at,
            label: "Samples found",
            seen,
            render: (i) => h(Row, { hit: /** @type {Hit} */ (list[i]), on: i === at, range, key: list[i]?.id ?? i }),
          })
        : search.state === "all"
          ? html`
              <p class="nothing">
                ${
                  narrow
                    ? "No sample that passes the filters contains this text. Remove a filter."
                    : "No sample of this run contains this text."
                }
              </p>
            `
          : null
    }
    ${list.length ? h(Foot, { ids: () => list.map((hit) => hit.id) }) : null}
  `;
}

/** @param {{ids: () => string[]}} props */
const Foot = ({ ids }) => html`
  <div class="foot">
    <button class="link" type="button" onClick=${() => (marking.value = ids())}>Mark them all</button>
    <span class="gap"></span>
    ${h(ExportSamples, { ids, name: "found-samples" })}
  </div>
`;

/** @param {{hit: Hit, on: boolean, range: number[]}} props */
function Row({ hit, on, range }) {
  return html`
    <div
      class=${on ? "group hit found at" : "group hit found"}
      role="option"
      aria-selected=${String(on)}
      data-hit=${hit.id}
      onClick=${() => openHit(hit)}>
      <div class="under">
        <i class=${ramp(shade(hit.reward ?? NaN, range[0] ?? 0, range[1] ?? 1))}></i>
        <span class="n">${score(hit.reward ?? NaN)}</span>
        <span class="ink3 n">step ${hit.step === null ? "–" : count(hit.step)}, ${hit.where}</span>
      </div>
      <div class="cut" data-prompt>${h(ModelLine, { text: firstWords.value.get(hit.id) ?? "" })}</div>
      <div class="two">
        ${hit.before ? "…" : ""}${h(ModelLine, { text: hit.before })}
        <mark>${h(ModelLine, { text: hit.match })}</mark>
        ${h(ModelLine, { text: hit.after })}…
      </div>
    </div>
  `;
}

/** Add a line of the reply. @param {Search} now @param {any} line */
function take(now, line) {
  if (line.hit) now.hits.push(line.hit);
  if (line.end) now.state = line.cut ? "cut" : "all";
}

/** @param {string} run @param {string} text @param {string} narrowed @param {AbortSignal} abort
 * @param {(line: any) => void} tell */
async function look(run, text, narrowed, abort, tell) {
  await eachLine(await stream(`runs/${part(run)}/search?text=${part(text)}&limit=10000${narrowed}`, abort), tell);
}
