/** Findings of the run as chains from their causes, then the hidden ones, then what was looked for
 * and not found, and what could not be looked at. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { chains, summary } from "../base/text/chain.js";
import { count, plural } from "../base/text/format.js";
import { bind } from "../keys.js";
import { go, tape, view } from "../state.js";
import { part } from "../wire/api.js";
import { Status } from "../parts/controls.js";
import { CauseCard, steps } from "../parts/findings/cause-card.js";
import { ChainCard } from "../parts/findings/chain-card.js";
import { h, html } from "../parts/html.js";
import { useAnswer } from "../parts/use-answer.js";

/** @typedef {import("../wire/types.gen").FindingShape} FindingShape */

const STILL = "The first diagnosis is under way. What it finds appears here as soon as it is done.";

/** @param {number} rules @param {number} hidden */
function noFinding(rules, hidden) {
  if (!hidden) return `${plural(rules, "rule")} read this run; none applies.`;
  return `${plural(rules, "rule")} read this run. ${plural(hidden, "finding")} ${hidden === 1 ? "is" : "are"} hidden.`;
}

export function Page() {
  const [answer, error] = useAnswer(`runs/${part(view.value.run)}/findings`, tape.value?.diagnosed === false);
  const [at, setAt] = useState(-1);
  const list = useRef(/** @type {FindingShape[]} */ ([]));
  const row = useRef(-1); // keys come faster than renders
  const move = (/** @type {number} */ by) => {
    row.current = Math.max(0, Math.min(list.current.length - 1, row.current + by));
    setAt(row.current);
  };
  useLayoutEffect(
    () =>
      bind([
        { keys: ["j"], says: "next finding", run: () => move(1) },
        { keys: ["k"], says: "previous finding", run: () => move(-1) },
        {
          keys: ["Enter"],
          says: "open the finding",
          run: () => {
            const f = list.current[Math.max(0, row.current)];
            if (f) go({ open: `finding:${f.rule}@${f.step}` });
          },
        },
      ]),
    [],
  );
  if (error)
    return html`
      <p class="bare-page">${error}</p>
    `;
  if (!tape.value || !answer) return null;
  // The tape does not wait for the first diagnosis, the answer does.
  /** @type {FindingShape[]} */
  const all = tape.value.diagnosed ? tape.value.findings : answer.findings;
  const reading = !tape.value.diagnosed && !answer.diagnosed;
  const shown = all.filter((f) => !f.hidden);
  const hidden = all.filter((f) => f.hidden);
  const skipped = new Set(answer.skipped.map((/** @type {any} */ s) => s.rule));
  const read = answer.rules.filter((/** @type {any} */ r) => !reading && !skipped.has(r.name));
  const silent = read.filter((/** @type {any} */ r) => !all.some((f) => f.rule === r.name));
  const told = chains(shown);
  list.current = told.flatMap((chain) => chain.map((link) => link.f));
  const first = list.current[0];
  const chosen = list.current[at] ?? null;
  return html`
    <div class="verdict">
      <h1>${first ? `${first.claim} ${steps(first)}` : reading ? "Still reading this run" : "No findings"}</h1>
      <p class="prose">${first ? summary(told) : reading ? STILL : noFinding(read.length, hidden.length)}</p>
    </div>
    ${told.filter((chain) => chain.length > 1).map((chain) => h(ChainCard, { chain, key: chain[0]?.f.rule }))}
    ${told.map((chain) => h(CauseCard, { chain, answer, at: chosen, key: `${chain[0]?.f.rule}${chain[0]?.f.step}` }))}
    ${
      hidden.length
        ? html`
            <section class="section">
              <h2>Hidden here</h2>
              <div class="card rules">
                ${hidden.map(
                  (f) => html`
                    <button class="rulerow" type="button" onClick=${() => go({ open: `finding:${f.rule}@${f.step}` })}>
                      ${h(Status, { is: "none" })}
                      <span>
                        <b>${f.claim}</b>
                        ${" "}
                        <span class="ink3">from step ${count(f.step)}</span>
                        <span class="read model">${f.why_hidden || "No reason was given."}</span>
                      </span>
                    </button>
                  `,
                )}
              </div>
            </section>
          `
        : null
    }
    ${past(answer.recovered)}
    <div class="looked">
      ${names("Looked for and not found", silent, (r) => short(r.title || r.name), "")}
      ${names("Skipped", answer.skipped, (r) => short(r.title || r.rule), "needs ")}
    </div>
  `;
}

/** What was found while the run ran, and is over. @param {FindingShape[]} recovered */
function past(recovered) {
  if (!recovered.length) return null;
  return html`
    <section class="section">
      <h2>
        Recovered
        <span class="n">${plural(recovered.length, "finding")}</span>
      </h2>
      <div class="card rules">
        ${recovered.map(
          (f) => html`
            <div class="rulerow">
              ${h(Status, { is: "none" })}
              <span>
                <b>${f.claim}</b>
                ${" "}
                <span class="ink3">${steps(f)}</span>
                <span class="read">${f.evidence}</span>
              </span>
            </div>
          `,
        )}
      </div>
    </section>
  `;
}

/** What a rule is about: its title up to the colon. @param {string} title */
const short = (title) => title.split(":")[0] ?? title;

/** A list of rules under a title; one that was skipped says what it needs.
 * @param {string} title @param {any[]} rules @param {(r: any) => string} says
 * @param {string} needs */
function names(title, rules, says, needs) {
  if (!rules.length) return null;
  return html`
    <section class="section">
      <h2>
        ${title}
        <span class="n">${plural(rules.length, "rule")}</span>
      </h2>
      <ul class=${needs ? "rule-names skipped" : "rule-names"}>
        ${rules.map(
          (r) => html`
            <li title=${r.teaches ?? ""}>
              ${says(r)}
              ${
                needs
                  ? html`
                      ${" "}
                      <span class="ink3">${needs}${r.needs}</span>
                    `
                  : null
              }
            </li>
          `,
        )}
      </ul>
    </section>
  `;
}
