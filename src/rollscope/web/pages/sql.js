/** SQL: a read-only query over the tables of the run. The address holds the query. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { count, duration, plural } from "../base/text/format.js";
import { cells, choiceOf, csv } from "../base/text/sql-answer.js";
import { SqlChart } from "../parts/cards/sql-chart.js";
import { SavedQueries } from "../parts/cards/saved-queries.js";
import { SqlTable } from "../parts/cards/sql-table.js";
import { say } from "../parts/frame/overlay.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { go, view } from "../state.js";
import { part, post } from "../wire/api.js";

/** @typedef {import("../wire/types.gen").SqlAnswer} SqlAnswer */

export const pane = true;
const FIRST = "SELECT step, avg(reward) AS reward, count(*) AS samples\nFROM samples\nGROUP BY step\nORDER BY step";

export function Page() {
  const { run, q } = view.value;
  const query = q || FIRST;
  const [draft, setDraft] = useState(query);
  const [answer, error, waiting] = useQuery(run, query);
  useLayoutEffect(() => setDraft(query), [query]);
  const ask = () => {
    if (draft.trim() && draft.trim() !== query) go({ q: draft.trim() === FIRST ? "" : draft.trim(), show: "" });
  };
  const copy = () => {
    if (answer)
      navigator.clipboard?.writeText(csv(answer)).then(
        () => say(`${plural(answer.rows.length, "row")} copied as CSV`),
        () => say("The browser did not allow copying"),
      );
  };
  return html`
    <div class="sql">
      <aside class="tables">
        ${h(SavedQueries, { draft, use: (text) => go({ q: text, show: "" }) })}
        ${h(Tables, { use: (text) => setDraft(text) })}
      </aside>
      <div class="asked">
        <form
          class="editor"
          onSubmit=${(/** @type {Event} */ e) => {
            e.preventDefault();
            ask();
          }}>
          <textarea
            class="field mono"
            data-search
            rows=${Math.max(4, Math.min(12, draft.split("\n").length + 1))}
            spellcheck=${false}
            aria-label="Query"
            value=${draft}
            onInput=${(/** @type {any} */ e) => setDraft(e.target.value)}
            onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
              if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) {
                e.preventDefault();
                ask();
              }
            }}></textarea>
          <div class="line">
            <button class="button" type="submit">
              Run ${" "}
              <kbd>Ctrl Enter</kbd>
            </button>
            <button class="button" type="button" disabled=${!answer?.rows.length} onClick=${copy}>Copy CSV</button>
            <span class="ink3 n" data-answer=${waiting ? "" : error ? "failed" : (answer?.total ?? "")}>
              ${waiting ? "running" : answer && !error ? summary(answer) : ""}
            </span>
            <span class="gap"></span>
            <span class="read">Read only: one SELECT over this run, for at most 10 s.</span>
          </div>
        </form>
        ${
          error
            ? html`
                <p class="wrong model" role="alert">${error}</p>
              `
            : null
        }
        ${
          answer && !error && choiceOf(answer, "")
            ? h(SqlChart, { answer, chosen: view.value.show, pick: (show) => go({ show }, "replace") })
            : null
        }
        ${answer && !error ? h(SqlTable, { columns: cells(answer), rows: answer.rows }) : null}
      </div>
    </div>
  `;
}

/** The answer, the error message, and whether the query runs. The old answer stays until the new
 * one comes.
 * @param {string} run @param {string} query @returns {[SqlAnswer | null, string, boolean]} */
function useQuery(run, query) {
  const [answer, setAnswer] = useState(/** @type {SqlAnswer | null} */ (null));
  const [error, setError] = useState("");
  const [waiting, setWaiting] = useState(true);
  useEffect(() => {
    const abort = new AbortController();
    setWaiting(true);
    post(`runs/${part(run)}/sql`, { query }, abort.signal).then(
      (reply) => {
        setAnswer(reply);
        setError("");
        setWaiting(false);
      },
      (e) => {
        if (e.name !== "AbortError") {
          setError(e.message);
          setWaiting(false);
        }
      },
    );
    return () => abort.abort();
  }, [run, query]);
  return [answer, error, waiting];
}

/** How many rows, how long, and how many of them are shown. @param {SqlAnswer} answer */
function summary(answer) {
  const [all, shown] = [answer.total, answer.rows.length];
  const cut = all > shown ? `, showing the first ${count(shown)}` : "";
  return `${plural(all, "row")} in ${duration(answer.seconds)}${cut}`;
}

/** The tables and their columns. @param {{use: (text: string) => void}} props */
function Tables({ use }) {
  const [answer] = useAnswer("tables");
  const open = useRef(new Set(["samples"]));
  const [, again] = useState(0);
  const toggle = (/** @type {string} */ name) => {
    if (!open.current.delete(name)) open.current.add(name);
    again((n) => n + 1);
  };
  return html`
    <h3>Tables</h3>
    ${(answer?.tables ?? []).map(
      (/** @type {any} */ t) => html`
        <div class="table-of">
          <div class="line">
            <button type="button" aria-expanded=${String(open.current.has(t.name))} onClick=${() => toggle(t.name)}>
              ${t.name}${" "}
              <span class="ink3 n">${count(t.columns.length)}</span>
            </button>
            <button class="link small" type="button" onClick=${() => use(`SELECT *\nFROM ${t.name}\nLIMIT 100`)}>
              select
            </button>
          </div>
          ${
            open.current.has(t.name)
              ? html`
                  <ul>
                    ${t.columns.map(
                      (/** @type {any} */ c) => html`
                        <li title=${c.says}>
                          <span>${c.name}</span>
                          <span class="ink3">${c.type}</span>
                        </li>
                      `,
                    )}
                  </ul>
                `
              : null
          }
        </div>
      `,
    )}
  `;
}
