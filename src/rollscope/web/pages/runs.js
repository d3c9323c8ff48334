/** Runs: one row each. The search reads `config.lr=1e-6 tag:ablation state:crashed`. Space selects,
 * Enter opens, c compares. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { series } from "../base/chart/color.js";
import { clock, count, duration, number, plural } from "../base/text/format.js";
import { matches } from "../base/text/run-search.js";
import { bind } from "../keys.js";
import { Status } from "../parts/controls.js";
import { EmptyStore } from "../parts/empty-store.js";
import { isQuiet } from "../parts/frame/bar.js";
import { Sparkline, stateWords } from "../parts/frame/rail.js";
import { h, html } from "../parts/html.js";
import { theme } from "../prefs.js";
import { go, href, loadRuns, now, pageOf, pendingRuns, picked, runs, view, visit } from "../state.js";
import { get, part } from "../wire/api.js";

/** @typedef {import("../state.js").RunRow} RunRow */

export function Page() {
  const all = runs.value;
  const { q } = view.value;
  const [at, setAt] = useState(0);
  // A ref, because keys come faster than renders.
  const rows = useRef({ at: 0, list: /** @type {RunRow[]} */ ([]) });
  const move = (/** @type {number} */ by) => {
    rows.current.at = Math.max(0, Math.min(rows.current.list.length - 1, rows.current.at + by));
    setAt(rows.current.at);
  };
  const chosen = () => rows.current.list[rows.current.at];
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
            if (r) visit(pageOf(r.id, "overview"));
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
        { keys: ["c"], says: "compare the selected runs", run: compare },
      ]),
    [],
  );
  rows.current.list = list;
  useEffect(() => diagnose(), [all?.length]);
  if (!all) return null;
  if (!all.length) return h(EmptyStore, {});
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
        ${list.length === all.length ? "" : `${count(list.length)} of `}${plural(all.length, "run")}${
          pendingRuns.value ? `, reading ${count(pendingRuns.value)} more` : ""
        }
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
              <div class="bare-page">
                <p class="ink2">
                  No run fits. A word is searched in names, projects and tags. ${" "}
                  <code>key:value</code>
                  ${" "} means contains, ${" "}
                  <code>key=value</code>
                  ${" "} means equals, and ${" "}
                  <code>${"config.lr<1e-5"}</code>
                  ${" "} compares numbers.
                </p>
              </div>
            `
      }
    </div>
  `;
}

const MOST = 24; // runs that opening the list diagnoses

/** Diagnose runs that no rule has read yet, one by one, newest first. Returns the function that
 * stops. */
function diagnose() {
  const abort = new AbortController();
  const unread = (runs.value ?? []).filter((r) => r.findings === null && r.step !== null).slice(0, MOST);
  const next = async () => {
    for (const r of unread) await get(`runs/${part(r.id)}/findings`, abort.signal);
    if (unread.length) await loadRuns();
  };
  next().catch(() => {}); // the page was left, or a run cannot be read and shows "–"
  return () => abort.abort();
}

/** Select or deselect a run. @param {string} id */
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
  const to = pageOf(r.id, "overview");
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
      <td title=${r.headline}>${h(Sparkline, { values: r.spark, color, width: 92, height: 22 })}</td>
      <td class="num">${number(last)}</td>
      <td class="num wide" title=${r.eval}>${r.eval ? number(score) : "–"}</td>
      <td>${h(FindingCounts, { findings: r.findings })}</td>
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

/** Findings by severity; "–" if no rule has read the run.
 * @param {{findings: RunRow["findings"]}} props */
function FindingCounts({ findings }) {
  if (!findings)
    return html`
      <span class="ink3">–</span>
    `;
  const some = ["bad", "watch"].filter((s) => findings[s]);
  return some.length
    ? html`
        <span class="counts">
          ${some.map(
            (s) => html`
              <span>
                ${h(Status, { is: s })}
                <span class="n">${findings[s]}</span>
              </span>
            `,
          )}
        </span>
      `
    : h(Status, { is: "good" });
}
