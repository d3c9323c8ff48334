/** Runs: one line each. Search knows `config.lr=1e-6 tag:ablation state:crashed`; Space selects, Enter opens, c compares. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { series } from "../base/chart/color.js";
import { clock, count, duration, number } from "../base/text/format.js";
import { matches } from "../base/text/run-search.js";
import { bind } from "../keys.js";
import { theme } from "../prefs.js";
import { go, href, loadRuns, now, picked, place, runs, view, visit } from "../state.js";
import { get, part } from "../wire/api.js";
import { h, html } from "../parts/html.js";
import { isQuiet } from "../parts/frame/bar.js";
import { Spark, stateWords } from "../parts/frame/rail.js";
import { Status } from "../parts/controls.js";
import { Empty } from "../parts/empty-store.js";

/** @typedef {import("../state.js").RunRow} RunRow */

export function Page() {
  const all = runs.value;
  const { q } = view.value;
  const [at, setAt] = useState(0);
  const held = useRef({ at: 0, list: /** @type {RunRow[]} */ ([]) }); // keys come faster than renders
  const move = (/** @type {number} */ by) => {
    held.current.at = Math.max(0, Math.min(held.current.list.length - 1, held.current.at + by));
    setAt(held.current.at);
  };
  const chosen = () => held.current.list[held.current.at];
  const list = (all ?? []).filter((r) => matches(r, q));
  useLayoutEffect(
    () =>
      bind([
        { keys: ["j", "ArrowDown"], says: "next run", run: () => move(1) },
        { keys: ["k", "ArrowUp"], says: "previous run", run: () => move(-1) },
        {
          keys: ["Enter"],
          says: "open run",
          run: () => {
            const r = chosen();
            if (r) visit(place(r.id, "overview"));
          },
        },
        {
          keys: [" "],
          says: "select run",
          run: () => {
            const r = chosen();
            if (r) pick(r.id);
          },
        },
        { keys: ["c"], says: "compare the selected", run: compare },
      ]),
    [],
  );
  held.current.list = list;
  useEffect(() => diagnosed(), [all?.length]);
  if (!all) return null;
  if (!all.length) return h(Empty, {});
  return html`
    <div class="runs-head">
      <input
        class="field"
        data-search
        value=${q}
        placeholder="Search: a name, tag:ablation, state:crashed, config.lr=1e-6"
        aria-label="Search runs"
        spellcheck=${false}
        onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
      <span class="ink3 n">
        ${list.length === all.length ? `${count(all.length)} runs` : `${count(list.length)} of ${count(all.length)} runs`}
      </span>
      <button class="button" type="button" disabled=${picked.value.length < 2} onClick=${compare}>
        Compare ${picked.value.length || ""}${" "}
        <kbd>c</kbd>
      </button>
    </div>
    <div class="runs-page">
      <table class="table">
        <thead>
          <tr>
            <th></th>
            <th>State</th>
            <th>Name</th>
            <th class="wide">Project</th>
            <th class="wide">Algorithm</th>
            <th class="wide">Framework</th>
            <th class="num">Step</th>
            <th>Reward</th>
            <th class="num">Last</th>
            <th class="num wide">Eval</th>
            <th>Findings</th>
            <th class="wide">Started</th>
            <th class="num wide">Duration</th>
          </tr>
        </thead>
        <tbody>${list.map((r, i) => h(Row, { r, here: i === at, key: r.id }))}</tbody>
      </table>
      ${
        list.length
          ? null
          : html`
              <p class="bare-page ink3">
                No run fits. Words match names, projects and tags; ${" "}
                <code>key:value</code>
                ${" "} contains, ${" "}
                <code>key=value</code>
                ${" "} equals, ${" "}
                <code>config.lr<1e-5</code>
                ${" "} compares.
              </p>
            `
      }
    </div>
  `;
}

const MOST = 24; // runs whose findings are asked for because somebody looks at the list

/** Runs that no rule has read yet are read now, one after the other, the newest first; gives the function that stops it. */
function diagnosed() {
  const abort = new AbortController();
  const unread = (runs.value ?? []).filter((r) => r.findings === null && r.step !== null).slice(0, MOST);
  const next = async () => {
    for (const r of unread) await get(`runs/${part(r.id)}/findings`, abort.signal);
    if (unread.length) await loadRuns();
  };
  next().catch(() => {}); // left the page, or one cannot be read: the list says "–" of it
  return () => abort.abort();
}

/** @param {string} id */
const pick = (id) => {
  picked.value = picked.value.includes(id) ? picked.value.filter((x) => x !== id) : [...picked.value, id];
};

function compare() {
  const [first, ...rest] = picked.value;
  if (first && rest.length) visit(href({ page: "compare", run: first, runs: rest, q: "" }));
}

/** @param {{r: RunRow, here: boolean}} props */
function Row({ r, here }) {
  const { color } = series(r.slot, theme.value);
  const to = place(r.id, "overview");
  const ended = r.state === "running" ? now.value * 1e6 : r.ended_ns;
  const last = typeof r.headline_value === "number" ? r.headline_value : null;
  const score = typeof r.eval_value === "number" ? r.eval_value : r.eval_value ? NaN : null;
  const chosen = picked.value.includes(r.id);
  return html`
    <tr
      class=${chosen ? "picked" : here ? "at" : ""}
      onClick=${(/** @type {MouseEvent} */ e) => {
        if (!(/** @type {Element} */ (e.target).closest("a, label"))) visit(to);
      }}>
      <td>
        <label class="tick">
          <input type="checkbox" aria-label=${`select ${r.name}`} checked=${chosen} onChange=${() => pick(r.id)} />
        </label>
      </td>
      <td>${h(StateWord, { r })}</td>
      <td class="named">
        <a class="name" href=${to}>${r.name || r.id}</a>
        ${
          r.reason
            ? html`
                <span class="reason cut" title=${r.reason}>${r.reason}</span>
              `
            : r.tags.length
              ? html`
                  <span class="reason">
                    ${r.tags.slice(0, 3).map(
                      (t) => html`
                        <span class="tag">${t}</span>
                      `,
                    )}
                  </span>
                `
              : null
        }
      </td>
      <td class="wide">${r.project}</td>
      <td class="wide">${r.algorithm}</td>
      <td class="wide">${r.framework || "–"}</td>
      <td class="num">${count(r.step)}</td>
      <td title=${r.headline}>${h(Spark, { values: r.spark, color, width: 92, height: 22 })}</td>
      <td class="num">${number(last)}</td>
      <td class="num wide" title=${r.eval}>${r.eval ? number(score) : "–"}</td>
      <td>${h(Counts, { found: r.findings })}</td>
      <td class="n wide">${r.started_ns ? clock(r.started_ns / 1e6, now.value) : "–"}</td>
      <td class="num wide">
        ${r.started_ns && ended > r.started_ns ? duration(Math.round((ended - r.started_ns) / 1e9)) : "–"}
      </td>
    </tr>
  `;
}

/** @param {{r: RunRow}} props */
function StateWord({ r }) {
  const quiet = r.state === "running" && isQuiet(r, (now.value - r.heard_ns / 1e6) / 1000);
  const kind = r.state === "running" ? (quiet ? "quiet" : "live") : r.state === "finished" ? "finished" : "crashed";
  return html`
    <span class=${`state ${kind}`} title=${stateWords(r)}>
      ${
        kind === "finished"
          ? null
          : html`
              <i class="dot"></i>
            `
      }${kind === "crashed" ? r.state : kind}
    </span>
  `;
}

/** @param {{found: RunRow["findings"]}} props */
function Counts({ found }) {
  if (!found)
    return html`
      <span class="ink3">–</span>
    `;
  const some = ["bad", "watch"].filter((s) => found[s]);
  return some.length
    ? html`
        <span class="counts">
          ${some.map(
            (s) => html`
              <span>
                ${h(Status, { is: s })}
                <span class="n">${found[s]}</span>
              </span>
            `,
          )}
        </span>
      `
    : h(Status, { is: "good" });
}
