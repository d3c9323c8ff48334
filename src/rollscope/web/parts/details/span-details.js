/** Details of a span: its facts, its sample, what it waited for, and what it delayed. */

import { useEffect } from "preact/hooks";
import { count, duration } from "../../base/text/format.js";
import { view } from "../../state.js";
import { part } from "../../wire/api.js";
import { html } from "../html.js";
import { useAnswer } from "../use-answer.js";
import { openDeeper } from "./trail.js";

/** @param {{id: string, title: (t: string) => void}} props */
export function SpanDetails({ id, title }) {
  const [s, error] = useAnswer(`runs/${part(view.value.run)}/timeline/span?key=${part(id)}`);
  useEffect(() => {
    if (s) title(`${s.name}, ${duration(s.seconds)}`);
  }, [s]);
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  if (!s) return null;
  const facts = [
    ["Lane", s.lane],
    ["Took", duration(s.seconds)],
    ["Began", `${duration(s.start_s)} after the first span`],
    ["In a queue", s.queued_s === null ? "" : duration(s.queued_s)],
    ["Step", s.step === null ? "" : count(s.step)],
    ["Weights", s.version === null ? "" : `version ${count(s.version)}`],
    ["Kind", s.kind === "wait" ? "a wait" : ""],
  ];
  return html`
    <dl class="facts n">
      ${facts
        .filter(([, v]) => v)
        .map(
          ([k, v]) => html`
            <dt>${k}</dt>
            <dd class="model">${v}</dd>
          `,
        )}
    </dl>
    ${
      s.sample
        ? html`
            <p>
              <button class="line" onClick=${() => openDeeper(`sample:${s.sample}`)}>Read sample ${s.sample}</button>
            </p>
          `
        : null
    }
    ${links("It waited for", s.causes)}${links("It delayed", s.effects)}
  `;
}

/** @param {string} title @param {any[]} spans */
const links = (title, spans) =>
  spans.length
    ? html`
        <section>
          <h3>${title}</h3>
          ${spans.map(
            (s) => html`
              <p class="n">
                <button class="line" onClick=${() => openDeeper(`span:${s.key}`)}>
                  ${s.name}, ${duration(s.seconds)}
                </button>
                ${" "}
                <span class="ink3">${s.lane}${s.sample ? `, sample ${s.sample}` : ""}</span>
              </p>
            `,
          )}
        </section>
      `
    : null;
