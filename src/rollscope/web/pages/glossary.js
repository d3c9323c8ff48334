/** Glossary: search on the left, the entry on the right, with its names in frameworks and the run's
 * latest value. */

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { count, worded } from "../base/text/format.js";
import { heading, sectionRank } from "../base/text/metric-names.js";
import { score } from "../base/text/ranking.js";
import { bind } from "../keys.js";
import { Segments } from "../parts/controls.js";
import { Entry } from "../parts/glossary/entry.js";
import { GuidesWith, Scenario, Scenarios, Symptom, Symptoms } from "../parts/glossary/guides.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";
import { useFound } from "../parts/use-found.js";
import { go, href, names, view } from "../state.js";
import { part } from "../wire/api.js";

export const pane = true;

export function Page() {
  const [all] = useAnswer("glossary");
  const { q, name, view: tab } = view.value;
  const meant = useFound("glossary/find", q);
  const list = useMemo(() => (all ? rank(all.entries, q, meant?.entry ?? "") : []), [all, q, meant]);
  const chosen = name || (tab === "symptoms" || tab === "watch" ? "" : (list[0]?.name ?? ""));
  const shown = !name && meant?.entry && chosen ? q.trim() : chosen;
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
          ${
            tab === "watch"
              ? h(Scenarios, { all })
              : tab === "symptoms"
                ? h(Symptoms, { all })
                : h(Entries, { list, chosen, q })
          }
        </div>
      </div>
      <div class="right">
        ${
          tab === "watch" && !name
            ? h(Scenario, { all })
            : tab === "symptoms" && !name
              ? h(Symptom, { all })
              : shown
                ? h(EntryPane, { name: shown, key: shown })
                : html`
                    <p class="ink3">No entry has a name like “${q}”. ${meant?.says ?? ""}</p>
                  `
        }
      </div>
    </div>
  `;
}

const MEANT = 1e6; // above any score of a text

/** Entries that fit the search: the one that the name means, then the best; all of them in reading
 * order without a search.
 * @param {any[]} entries @param {string} q @param {string} meant */
function rank(entries, q, meant) {
  if (!q.trim()) return entries.toSorted((a, b) => sectionRank(a.section) - sectionRank(b.section));
  return entries
    .map((e) => ({
      e,
      fit: Math.max(
        e.name === meant ? MEANT : -1,
        score(e.name, q),
        ...e.also.map((/** @type {string} */ a) => score(a, q) - (a === q ? 0 : 60)),
        e.meaning.toLowerCase().includes(q.toLowerCase()) ? 200 : -1,
      ),
    }))
    .filter((r) => r.fit >= 150)
    .sort((a, b) => b.fit - a.fit)
    .map((r) => r.e);
}

/** The list of entries, by section. @param {{list: any[], chosen: string, q: string}} props */
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

/** An entry, and the run's latest values of it. @param {{name: string}} props */
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
    ${h(Entry, { answer, short: false, to: (n) => go({ name: n }) })}${h(GuidesWith, { name: e.name })}
  `;
}
