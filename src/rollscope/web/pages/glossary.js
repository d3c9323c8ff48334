/** Glossary: search on the left, the entry on the right with its names everywhere and your run's latest value beside it. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { score } from "../base/text/ranking.js";
import { count, worded } from "../base/text/format.js";
import { heading, sectionRank } from "../base/text/metric-names.js";
import { bind } from "../keys.js";
import { go, href, names, view } from "../state.js";
import { part } from "../wire/api.js";
import { useAnswer } from "../parts/details/details.js";
import { Entry } from "../parts/glossary/entry.js";
import { h, html } from "../parts/html.js";
import { Segments } from "../parts/controls.js";

export const pane = true;

export function Page() {
  const [all] = useAnswer("glossary");
  const { q, name, view: tab } = view.value;
  const list = useMemo(() => (all ? rank(all.entries, q) : []), [all, q]);
  const chosen = name || (tab === "symptoms" || tab === "watch" ? "" : (list[0]?.name ?? ""));
  const asked = q && !name && all && !list.length ? q : chosen;
  const rows = useRef(/** @type {any[]} */ ([]));
  rows.current = list;
  useLayoutEffect(() => {
    const walk = (/** @type {number} */ by) => {
      const now = rows.current.findIndex((e) => e.name === (view.value.name || rows.current[0]?.name));
      const next = rows.current[Math.max(0, Math.min(rows.current.length - 1, now + by))];
      if (next && !view.value.view) {
        go({ name: next.name }, "replace");
        requestAnimationFrame(() =>
          document.querySelector(".glossary .row[aria-current]")?.scrollIntoView({ block: "nearest" }),
        );
      }
    };
    return bind([
      { keys: ["j"], says: "next entry", run: () => walk(1) },
      { keys: ["k"], says: "previous entry", run: () => walk(-1) },
    ]);
  }, []);
  if (!all) return null;
  return html`
    <div class="glossary">
      <div class="left">
        <div class="head">
          <input
            class="field"
            data-search
            value=${q}
            placeholder="Any name: actor/ppo_kl, entropy, …"
            aria-label="Search the glossary"
            spellcheck=${false}
            onInput=${(/** @type {any} */ e) => go({ q: e.target.value, name: "" }, "replace")} />
          ${h(Segments, {
            label: "what",
            value: tab || "entries",
            options: [
              ["entries", `Entries ${count(list.length)}`],
              ["watch", "Watch"],
              ["symptoms", "Symptoms"],
            ],
            pick: (v) => go({ view: v === "entries" ? "" : v, name: "" }),
          })}
        </div>
        <div class="list">
          ${tab === "watch" ? h(Scenarios, { all }) : tab === "symptoms" ? h(Symptoms, { all }) : h(Entries, { list, chosen, q })}
        </div>
      </div>
      <div class="right">
        ${
          tab === "watch" && !name
            ? h(ScenarioBody, { all })
            : tab === "symptoms" && !name
              ? h(SymptomBody, { all })
              : asked
                ? h(EntryPane, { name: asked, key: asked })
                : html`
                    <p class="ink3">No entry has a name like “${q}”.</p>
                  `
        }
      </div>
    </div>
  `;
}

/** @param {any[]} entries @param {string} q */
function rank(entries, q) {
  if (!q.trim()) return entries.toSorted((a, b) => sectionRank(a.section) - sectionRank(b.section)); // as on Metrics
  return entries
    .map((e) => ({
      e,
      fit: Math.max(
        score(e.name, q),
        ...e.also.map((/** @type {string} */ a) => score(a, q) - (a === q ? 0 : 60)),
        e.meaning.toLowerCase().includes(q.toLowerCase()) ? 200 : -1,
      ),
    }))
    .filter((r) => r.fit >= 150)
    .sort((a, b) => b.fit - a.fit)
    .map((r) => r.e);
}

/** @param {{list: any[], chosen: string, q: string}} props */
function Entries({ list, chosen, q }) {
  let section = "";
  return html`
    ${list.slice(0, 400).map((e) => {
      const head =
        !q && e.section !== section
          ? html`
              <h3>${heading(e.section)}</h3>
            `
          : null;
      section = e.section;
      const match = q ? e.also.find((/** @type {string} */ a) => a.toLowerCase().includes(q.toLowerCase())) : "";
      return html`
        ${head}
        <button
          class="row"
          type="button"
          aria-current=${e.name === chosen ? "true" : undefined}
          onClick=${() => go({ name: e.name })}>
          <span class="cut">${e.name}</span>
          ${
            match
              ? html`
                  <span class="small cut">${match}</span>
                `
              : null
          }
        </button>
      `;
    })}
  `;
}

/** @param {{name: string}} props */
function EntryPane({ name }) {
  const [answer, error] = useAnswer(`glossary/entry?name=${part(name)}`);
  if (error)
    return html`
      <p class="prose">${error}</p>
    `;
  if (!answer) return null;
  const e = answer.entry;
  const logged = (names.value ?? [])
    .filter((m) => m.entry === e.name && (!answer.stat || m.stat === answer.stat))
    .slice(0, 4);
  return html`
    <div class="top">
      <div>
        <h1>${answer.asked === e.name || !answer.via ? e.name : answer.asked}</h1>
        ${
          answer.via
            ? html`
                <p class="ink3">
                  ${answer.via.dialect} for ${" "}
                  <a
                    href="#"
                    onClick=${(/** @type {Event} */ ev) => {
                      ev.preventDefault();
                      go({ name: e.name });
                    }}>
                    ${answer.name}
                  </a>
                </p>
              `
            : null
        }
      </div>
      ${
        logged.length
          ? html`
              <div class="latest">
                <h3>In this run, step ${count(logged[0]?.step)}</h3>
                ${logged.map(
                  (m) => html`
                    <p class="n">
                      <a class="ink3" href=${href({ page: "metrics", q: m.name, name: "", view: "", section: "" })}>
                        ${m.name}
                      </a>
                      ${" "}
                      <b>${typeof m.last === "number" ? worded(m.last, m.unit) : (m.last ?? "–")}</b>
                    </p>
                  `,
                )}
              </div>
            `
          : null
      }
    </div>
    ${h(Entry, { answer, short: false, to: (n) => go({ name: n }) })}${h(Seen, { name: e.name })}
  `;
}

/** Symptoms and scenarios in which this metric is looked at. @param {{name: string}} props */
function Seen({ name }) {
  const [all] = useAnswer("glossary");
  if (!all) return null;
  const about = (/** @type {string} */ metric) => metric === name || metric.startsWith(`${name}/`);
  const symptoms = all.symptoms.filter((/** @type {any} */ s) =>
    [...s.first, ...s.then].some(([metric]) => about(metric)),
  );
  const scenarios = all.scenarios.filter((/** @type {any} */ s) =>
    s.watch.some((/** @type {any} */ w) => about(w.metric)),
  );
  const list = (/** @type {string} */ view_, /** @type {any[]} */ found, /** @type {string} */ word) => html`
    <ul>
      ${found.map(
        (s) => html`
          <li>
            <button class="link" type="button" onClick=${() => go({ view: view_, section: s.name, name: "", q: "" })}>
              ${s[word]}
            </button>
          </li>
        `,
      )}
    </ul>
  `;
  return html`
    ${
      symptoms.length
        ? html`
            <section>
              <h3>Looked at when</h3>
              ${list("symptoms", symptoms, "sees")}
            </section>
          `
        : null
    }${
      scenarios.length
        ? html`
            <section>
              <h3>Watched in</h3>
              ${list("watch", scenarios, "title")}
            </section>
          `
        : null
    }
  `;
}

/** There is always one chosen: that of the address, else the first. @param {any[]} list @param {number} i */
const chosenIn = (list, i) =>
  list.some((s) => s.name === view.value.section) ? list[i].name === view.value.section : i === 0;

/** @param {{all: any}} props */
const Scenarios = ({ all }) => html`
  ${all.scenarios.map(
    (/** @type {any} */ s, /** @type {number} */ i) => html`
      <button
        class="row"
        type="button"
        aria-current=${chosenIn(all.scenarios, i) ? "true" : undefined}
        onClick=${() => go({ section: s.name, name: "" })}>
        <span>${s.title}</span>
      </button>
    `,
  )}
`;
/** @param {{all: any}} props */
const Symptoms = ({ all }) => html`
  ${all.symptoms.map(
    (/** @type {any} */ s, /** @type {number} */ i) => html`
      <button
        class="row"
        type="button"
        aria-current=${chosenIn(all.symptoms, i) ? "true" : undefined}
        onClick=${() => go({ section: s.name, name: "" })}>
        <span>${s.sees}</span>
      </button>
    `,
  )}
`;

/** A name that leads to its entry. @param {{name: string}} props */
const To = ({ name }) => html`
  <button class="mono" style=${{ color: "var(--accent)" }} type="button" onClick=${() => go({ name })}>${name}</button>
`;

/** @param {{all: any}} props */
function ScenarioBody({ all }) {
  const s = all.scenarios.find((/** @type {any} */ x) => x.name === view.value.section) ?? all.scenarios[0];
  return html`
    <h1>${s.title}</h1>
    <p class="ink2 prose">What to watch, in the order in which to look at it.</p>
    <table class="table names-table">
      <tbody>
        ${s.watch.map(
          (/** @type {any} */ w) => html`
            <tr>
              <td>${w.concern}</td>
              <td>
                ${h(To, { name: w.metric })}${
                  w.vital
                    ? html`
                        ${" "}
                        <span class="tag">vital</span>
                      `
                    : null
                }
                <div class="read prose">${w.why}</div>
              </td>
            </tr>
          `,
        )}
      </tbody>
    </table>
    <p class="small ink3">${s.source}</p>
  `;
}

/** @param {{all: any}} props */
function SymptomBody({ all }) {
  const s = all.symptoms.find((/** @type {any} */ x) => x.name === view.value.section) ?? all.symptoms[0];
  const list = (/** @type {any[]} */ pairs) => html`
    <table class="table names-table">
      <tbody>
        ${pairs.map(
          ([metric, question]) => html`
            <tr>
              <td>${h(To, { name: metric })}</td>
              <td class="read">${question}</td>
            </tr>
          `,
        )}
      </tbody>
    </table>
  `;
  return html`
    <h1>${s.sees}</h1>
    <p class="prose">${s.means}</p>
    <section>
      <h3>Look first at</h3>
      ${list(s.first)}
    </section>
    <section>
      <h3>Then at</h3>
      ${list(s.then)}
    </section>
  `;
}
