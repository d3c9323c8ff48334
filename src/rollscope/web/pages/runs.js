/** Runs: one row each, thousands of them. The search reads `config.lr=1e-6 not tag:scratch`. Space
 * selects, Enter opens, c compares. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, plural } from "../base/text/format.js";
import { USUAL, grouped, metricOf, sorted, valueOf } from "../base/text/run-columns.js";
import { matcher, problem } from "../base/text/run-search.js";
import { bind } from "../keys.js";
import { EmptyStore } from "../parts/empty-store.js";
import { h, html } from "../parts/html.js";
import { go, now, pageOf, pendingRuns, picked, runs, view, visit } from "../state.js";
import { archive } from "../runs/actions.js";
import { Bin } from "../runs/bin.js";
import { BulkBar } from "../runs/bulk-bar.js";
import { ColumnsMenu, groupings } from "../runs/columns-menu.js";
import { compare } from "../runs/compare.js";
import { pick } from "../runs/picking.js";
import { Table } from "../runs/table.js";
import { useDeltas } from "../runs/deltas.js";
import { Views } from "../runs/views.js";
import { get, part } from "../wire/api.js";
import { held, loadProject, problems } from "../wire/project.js";

/** @typedef {import("../state.js").RunRow} RunRow */
/** @typedef {import("../runs/table.js").Line} Line */

export function Page() {
  const all = runs.value;
  const [asking, ask] = useState(/** @type {import("../runs/bulk-bar.js").Asking} */ (""));
  const deleted = useDeleted();
  useEffect(() => {
    loadProject().catch(() => {});
  }, []);
  if (!all) return null;
  if (!all.length && !deleted.length) return h(EmptyStore, {});
  const others = problems.value.length - 1;
  return html`
    ${h(Views, { deleted: deleted.length })}
    ${
      problems.value.length
        ? html`
            <p class="read bad">${problems.value[0]}${others > 0 ? ` And ${plural(others, "line")} more.` : ""}</p>
          `
        : null
    }
    ${view.value.show === "bin" ? h(Bin, { deleted }) : h(List, { all, asking, ask })}
  `;
}

/** The runs in the bin, asked for again when the list or the log changes. */
function useDeleted() {
  const [deleted, setDeleted] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    const abort = new AbortController();
    get("bin", abort.signal).then(
      (answer) => setDeleted(answer.runs),
      () => {},
    );
    return () => abort.abort();
  }, [runs.value?.length, held.value]);
  return deleted;
}

/** @param {{all: RunRow[], asking: any, ask: (what: any) => void}} props */
function List({ all, asking, ask }) {
  const { q, sort, by, show } = view.value;
  const delta = useDeltas();
  const usual = delta.any ? USUAL.flatMap((c) => (c === "eval" ? [c, "delta"] : [c])) : USUAL;
  const columns = view.value.cols ? view.value.cols.split(",") : usual;
  const last = useValues([...columns, sort.replace(/^-/, ""), by]);
  const values = useMemo(() => ({ ...last, delta: delta.runs, groups: delta.groups }), [last, delta]);
  const [closed, setClosed] = useState(/** @type {Set<string>} */ (new Set()));
  const list = useMemo(() => {
    const fits = matcher(q, (run, key) => valueOf(run, key, values, now.peek()));
    const mine = all.filter((r) => r.archived === (show === "archived") && fits(r));
    return sorted(mine, sort, values, now.peek());
  }, [all, q, sort, show, values]);
  const lines = useMemo(() => arranged(list, by, values, closed), [list, by, values, closed]);
  const at = useKeys(lines, list, ask);
  const toggle = (/** @type {string} */ key) => setClosed(toggled(closed, key));
  return html`
    ${h(Head, { all, list, columns })}
    ${h(Table, { lines, list, columns, values, at, toggle, empty: list.length ? null : h(Nothing, {}) })}
    ${h(BulkBar, { asking, ask })}
  `;
}

/** @param {Set<string>} set @param {string} key */
const toggled = (set, key) => new Set(set.has(key) ? [...set].filter((one) => one !== key) : [...set, key]);

/** Lines of the table. @param {RunRow[]} list @param {string} by @param {any} values
 * @param {Set<string>} closed @returns {Line[]} */
function arranged(list, by, values, closed) {
  if (!by) return list.map((run) => ({ run }));
  const seeds = by === "configuration"; // then a group is a row, and opens where one asks
  return grouped(list, by, values, now.peek()).flatMap(({ key, value, runs: mine }) => {
    const shut = seeds ? !closed.has(key) : closed.has(key);
    return [{ head: key, value, runs: mine, closed: shut }, ...(shut ? [] : mine.map((run) => ({ run })))];
  });
}

const NO_VALUES = {};
const AGAIN = 500; // ms

/** Last values of the metrics among these columns. @param {string[]} columns */
function useValues(columns) {
  const names = [...new Set(columns.map(metricOf).filter(Boolean))].sort();
  const [values, setValues] = useState(/** @type {any} */ (NO_VALUES));
  useEffect(() => {
    if (!names.length) return setValues(NO_VALUES);
    const abort = new AbortController();
    let later = 0;
    const ask = async () => {
      const query = names.map((name) => `name=${part(name)}`).join("&");
      const answer = await get(`runs/values?${query}`, abort.signal);
      setValues(answer.values);
      // A large store is read in parts.
      if (answer.pending) later = setTimeout(() => ask().catch(() => {}), AGAIN);
    };
    ask().catch(() => {});
    return () => {
      clearTimeout(later);
      abort.abort();
    };
  }, [names.join("\n"), runs.value]);
  return values;
}

/** Keys of the list; returns the place of the cursor.
 * @param {Line[]} lines @param {RunRow[]} list @param {(what: any) => void} ask */
function useKeys(lines, list, ask) {
  const [at, setAt] = useState(0);
  const now_ = useRef({ at: 0, lines, list }); // keys come faster than renders
  now_.current.lines = lines;
  now_.current.list = list;
  const move = (/** @type {number} */ by) => {
    now_.current.at = Math.max(0, Math.min(now_.current.lines.length - 1, now_.current.at + by));
    setAt(now_.current.at);
  };
  const chosen = () => {
    const line = now_.current.lines[now_.current.at];
    return line && "run" in line ? line.run : undefined;
  };
  const onRun = (/** @type {(r: RunRow) => void} */ act) => () => {
    const r = chosen();
    if (r) act(r);
  };
  useLayoutEffect(
    () =>
      bind([
        { keys: ["j", "ArrowDown"], says: "next run", run: () => move(1) },
        { keys: ["k", "ArrowUp"], says: "previous run", run: () => move(-1) },
        { keys: ["Enter"], says: "open run", run: onRun((r) => visit(pageOf(r.id, "overview"))) },
        { keys: [" "], says: "select run", run: onRun((r) => pick(r.id, now_.current.list, false)) },
        { keys: ["c"], says: "compare the selected runs", run: compare },
        { keys: ["t"], says: "tag the selected runs", run: () => picked.value.length && ask("tag") },
        {
          keys: ["a"],
          says: "archive the selected runs",
          run: () => {
            if (picked.value.length) archive(picked.value, true);
          },
        },
      ]),
    [],
  );
  return at;
}

/** Search, counts, grouping and columns.
 * @param {{all: RunRow[], list: RunRow[], columns: string[]}} props */
function Head({ all, list, columns }) {
  const [open, setOpen] = useState(false);
  const { q, by, show } = view.value;
  const here = useMemo(() => all.filter((r) => r.archived === (show === "archived")), [all, show]);
  const options = useMemo(() => groupings(here), [here]); // reads every setting of every run
  const wrong = problem(q);
  return html`
    <div class="runs-head">
      <input
        class="field"
        data-search
        value=${q}
        placeholder="Search: a name, tag:ablation, not state:crashed, config.lr=1e-6, /grpo-\\d+/"
        aria-label="Search runs"
        aria-invalid=${wrong ? "true" : undefined}
        spellcheck=${false}
        onInput=${(/** @type {any} */ e) => go({ q: e.target.value }, "replace")} />
      <span class="ink3 n" data-shown=${list.length}>
        ${list.length === here.length ? "" : `${count(list.length)} of `}${plural(here.length, "run")}${
          pendingRuns.value ? `, reading ${count(pendingRuns.value)} more` : ""
        }
      </span>
      <span class="gap"></span>
      <label class="inline">
        Group
        <select class="field" value=${by} onChange=${(/** @type {any} */ e) => go({ by: e.target.value }, "replace")}>
          <option value="">none</option>
          ${options.map(
            ([name, title]) => html`
              <option value=${name} selected=${by === name}>${title}</option>
            `,
          )}
        </select>
      </label>
      <span class="anchor">
        <button class="button" type="button" aria-pressed=${String(open)} onClick=${() => setOpen(!open)}>
          Columns
        </button>
        ${open ? h(ColumnsMenu, { columns, list: here, close: () => setOpen(false) }) : null}
      </span>
    </div>
    ${
      wrong
        ? html`
            <p class="read bad">${wrong}</p>
          `
        : null
    }
  `;
}

const Nothing = () => html`
  <div class="bare-page">
    <p class="ink2">
      No run fits. A word is searched in names, projects and tags. ${" "}
      <code>key:value</code>
      ${" "} means contains, ${" "}
      <code>key=value</code>
      ${" "} means equals, ${" "}
      <code>${"config.lr<1e-5"}</code>
      ${" "} compares numbers, ${" "}
      <code>not</code>
      ${" "} turns a term round, and ${" "}
      <code>/grpo-[0-9]+/</code>
      ${" "} is a regular expression.
    </p>
  </div>
`;
