/** An entry of the catalogue: meaning, definition, how to read it, first checks, and its names in
 * frameworks. */

import { worded } from "../../base/text/format.js";
import { html } from "../html.js";

const GOOD = /** @type {Record<string, string>} */ ({
  up: "higher is better",
  down: "lower is better",
  steady: "steady is good",
  "near one": "near 1 is good",
  "near zero": "near 0 is good",
  context: "neither direction is good by itself",
});

/** @param {{answer: any, short: boolean, to?: (name: string) => void}} props */
export function Entry({ answer, short, to }) {
  const e = answer.entry;
  const theirs = answer.via && !answer.via.same;
  return html`
    ${
      short
        ? null
        : html`
            <p class="prose">${e.meaning}</p>
          `
    }
    ${
      theirs
        ? html`
            <p class="read">
              <span class="tag watch">≠</span>
              ${" "} ${answer.via.note || "The framework logs another quantity under this name."}
            </p>
          `
        : answer.via?.note
          ? html`
              <p class="read">${answer.via.note}</p>
            `
          : null
    }
    ${
      short
        ? html`
            <p>${e.meaning}</p>
          `
        : null
    }
    ${
      e.definition
        ? html`
            <section>
              <h3>Definition</h3>
              <p class="prose">${ticked(capital(e.definition))}</p>
            </section>
          `
        : null
    }
    ${
      e.read
        ? html`
            <section>
              <h3>How to read it</h3>
              <p class="prose">${ticked(capital(e.read))}</p>
            </section>
          `
        : null
    }
    ${
      e.check.length
        ? html`
            <section>
              <h3>First checks when it moves</h3>
              <ol class="checks">
                ${e.check.map(
                  (/** @type {string} */ c) => html`
                    <li>${linked(c, to)}</li>
                  `,
                )}
              </ol>
            </section>
          `
        : null
    }
    <section>
      <h3>Facts</h3>
      <dl class="facts plain">
        <dt>Unit</dt>
        <dd>${e.unit || "none"}</dd>
        <dt>Direction</dt>
        <dd>${GOOD[e.good] ?? e.good}</dd>
        <dt>Range</dt>
        <dd>${span(e.range) || "any"}</dd>
        ${
          span(e.healthy)
            ? html`
                <dt>Healthy</dt>
                <dd>${span(e.healthy)}</dd>
              `
            : null
        }
        <dt>Reduction</dt>
        <dd>${e.kind}${e.stats.length ? `: ${e.stats.join(", ")}` : ""}</dd>
        <dt>Made by</dt>
        <dd>${e.producer}</dd>
        ${
          e.scoped
            ? html`
                <dt>Also as</dt>
                <dd>generated, trained and discarded</dd>
              `
            : null
        }
      </dl>
    </section>
    ${
      e.alarms.length
        ? html`
            <section>
              <h3>Alarms</h3>
              ${e.alarms.map(
                (/** @type {any} */ a) => html`
                  <p class="read">
                    <span class=${`tag ${a.severity}`}>${a.severity}</span>
                    ${" "} ${alarmWords(a, e.unit)}${a.says ? `: ${a.says}` : ""}${" "}
                    ${
                      a.source
                        ? html`
                            <span class="ink3">(${a.source})</span>
                          `
                        : ""
                    }
                  </p>
                `,
              )}
            </section>
          `
        : null
    }
    ${
      e.names.length
        ? html`
            <section>
              <h3>Names in frameworks</h3>
              <table class="table names-table">
                <tbody>
                  ${e.names.map(
                    (/** @type {any} */ n, /** @type {number} */ i) => html`
                      <tr class=${n.dialect === e.names[i - 1]?.dialect ? "same" : ""}>
                        <td>${n.dialect === e.names[i - 1]?.dialect ? "" : n.dialect}</td>
                        <td>
                          <span class="mono">${n.key}</span>
                          ${
                            n.same
                              ? ""
                              : html`
                                  ${" "}
                                  <span class="tag watch">≠</span>
                                `
                          }${
                            n.scale !== 1
                              ? html`
                                  ${" "}
                                  <span class="tag">× ${n.scale}</span>
                                `
                              : ""
                          }${
                            n.note
                              ? html`
                                  <div class="read">${n.note}</div>
                                `
                              : null
                          }
                        </td>
                      </tr>
                    `,
                  )}
                </tbody>
              </table>
            </section>
          `
        : null
    }
    ${
      e.example
        ? html`
            <section>
              <h3>Example</h3>
              <pre class="mono">${e.example}</pre>
            </section>
          `
        : null
    }
  `;
}

/** A text in which `words` between backticks are code. @param {string} text */
const ticked = (text) =>
  text.split("\u0060").map((part, i) =>
    i % 2
      ? html`
          <code>${part}</code>
        `
      : part,
  );

/** A text in which metric names link to their entries.
 * @param {string} text @param {((name: string) => void) | undefined} to */
function linked(text, to) {
  if (!to) return ticked(text);
  return text.split(/([a-z_]+(?:\/[a-z0-9_{}@]+)+)/).map((part, i) =>
    i % 2
      ? html`
          <button class="link mono" type="button" onClick=${() => to(part)}>${part}</button>
        `
      : ticked(part),
  );
}

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A range in words. @param {(number | null)[]} range */
function span([lo, hi]) {
  if (lo === null && hi === null) return "";
  if (lo === null || lo === undefined) return `below ${worded(hi)}`;
  return hi === null || hi === undefined ? `above ${worded(lo)}` : `${worded(lo)} to ${worded(hi)}`;
}

/** When an alarm fires, in words: `max above 5 s`, `above 50 times the run's opening level`.
 * @param {any} a @param {string} unit */
function alarmWords(a, unit) {
  const [side, relative] = [a.when.split(" ")[0], a.when.endsWith("times opening")];
  const level = a.level.map((/** @type {number} */ v) => (relative ? worded(v, "") : worded(v, unit))).join(" to ");
  return `${a.stat ? `${a.stat} ` : ""}${side} ${level}${relative ? " times the run's opening level" : ""}`;
}
