/** The guides of the glossary: what to watch in a scenario, and what to check for a symptom. */

import { go, view } from "../../state.js";
import { h, html } from "../html.js";
import { useAnswer } from "../use-answer.js";

/** The symptoms and scenarios that name this metric. @param {{name: string}} props */
export function GuidesWith({ name }) {
  const [all] = useAnswer("glossary");
  if (!all) return null;
  const about = (/** @type {string} */ metric) => metric === name || metric.startsWith(`${name}/`);
  const symptoms = all.symptoms.filter((/** @type {any} */ s) =>
    [...s.first, ...s.then].some(([metric]) => about(metric)),
  );
  const scenarios = all.scenarios.filter((/** @type {any} */ s) =>
    s.watch.some((/** @type {any} */ w) => about(w.metric)),
  );
  const list = (/** @type {string} */ view_, /** @type {any[]} */ items, /** @type {string} */ word) => html`
    <ul>
      ${items.map(
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
              <h3>Look at it when</h3>
              ${list("symptoms", symptoms, "sees")}
            </section>
          `
        : null
    }${
      scenarios.length
        ? html`
            <section>
              <h3>Watch it in</h3>
              ${list("watch", scenarios, "title")}
            </section>
          `
        : null
    }
  `;
}

/** True for the chosen item: that of the address, else the first.
 * @param {any[]} list @param {number} i */
const chosenIn = (list, i) =>
  list.some((s) => s.name === view.value.section) ? list[i].name === view.value.section : i === 0;

/** The list of scenarios. @param {{all: any}} props */
export const Scenarios = ({ all }) => html`
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

/** The list of symptoms. @param {{all: any}} props */
export const Symptoms = ({ all }) => html`
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

/** A name that links to its entry. @param {{name: string}} props */
const EntryLink = ({ name }) => html`
  <button class="mono" style=${{ color: "var(--accent)" }} type="button" onClick=${() => go({ name })}>${name}</button>
`;

/** What to watch in the chosen scenario. @param {{all: any}} props */
export function Scenario({ all }) {
  const s = all.scenarios.find((/** @type {any} */ x) => x.name === view.value.section) ?? all.scenarios[0];
  return html`
    <h1>${s.title}</h1>
    <p class="ink2 prose">What to watch, in this order.</p>
    <table class="table names-table">
      <tbody>
        ${s.watch.map(
          (/** @type {any} */ w) => html`
            <tr>
              <td>${w.concern}</td>
              <td>
                ${h(EntryLink, { name: w.metric })}${
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

/** What to check for the chosen symptom. @param {{all: any}} props */
export function Symptom({ all }) {
  const s = all.symptoms.find((/** @type {any} */ x) => x.name === view.value.section) ?? all.symptoms[0];
  const list = (/** @type {any[]} */ pairs) => html`
    <table class="table names-table">
      <tbody>
        ${pairs.map(
          ([metric, question]) => html`
            <tr>
              <td>${h(EntryLink, { name: metric })}</td>
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
