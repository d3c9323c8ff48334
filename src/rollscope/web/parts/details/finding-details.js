/** Details of a finding: its evidence, first checks, the rule, the metrics, and the form that hides
 * it. */

import { useEffect } from "preact/hooks";
import { count } from "../../base/text/format.js";
import { go, href, tape } from "../../state.js";
import { Status } from "../controls.js";
import { h, html } from "../html.js";
import { HideFinding } from "./hide-finding.js";

/** @param {{id: string, title: (t: string) => void}} props */
export function FindingDetails({ id, title }) {
  const [rule, at] = id.split("@");
  const all = tape.value?.findings ?? [];
  const f = all.find((x) => x.rule === rule && String(x.step) === at) ?? all.find((x) => x.rule === rule);
  useEffect(() => title(f?.claim ?? "Finding"), [f?.claim]);
  if (!f)
    return html`
      <p class="read">This finding no longer holds.</p>
    `;
  return html`
    <section>
      <p class="line">
        ${h(Status, { is: f.severity })}${" "}
        <span class="ink3">from step ${count(f.step)}${f.until === null ? " until now" : ` to ${count(f.until)}`}</span>
      </p>
      <p>${f.evidence}</p>
      ${f.thresholds.map(
        (t) => html`
          <p class="ink3">${t}</p>
        `,
      )}
      ${
        f.life.length
          ? html`
              <p class="ink3">${life(f)}</p>
            `
          : null
      }
    </section>
    ${
      f.check.length
        ? html`
            <section>
              <h3>First checks</h3>
              <ol class="checks">
                ${f.check.map(
                  (c) => html`
                    <li>${c}</li>
                  `,
                )}
              </ol>
            </section>
          `
        : null
    }
    ${
      f.teaches
        ? html`
            <section>
              <h3>The rule</h3>
              <p class="read">${f.teaches}</p>
            </section>
          `
        : null
    }
    ${
      f.metrics.length
        ? html`
            <section>
              <h3>Metrics to look at</h3>
              ${f.metrics.map(
                (m) => html`
                  <p><a href=${href({ page: "metrics", q: m, open: "", step: f.step })}>${m}</a></p>
                `,
              )}
            </section>
          `
        : null
    }
    <p class="line">
      <button class="button" type="button" onClick=${() => go({ step: f.step }, "replace")}>
        Go to step ${count(f.step)}
      </button>
      <a class="button" href=${href({ page: "rollouts", step: f.until ?? f.step, open: "" })}>See the samples</a>
    </p>
    ${h(HideFinding, { f, key: f.rule })}
  `;
}

const WORDS = /** @type {Record<string, string>} */ ({ opened: "Seen", worse: "Worse", recovered: "Over" });

/** What a doctor that followed the run wrote of a finding.
 * @param {import("../../wire/types.gen").FindingShape} f */
const life = (f) => f.life.map((e) => `${WORDS[e.life] ?? e.life} at step ${count(e.step)}`).join(", ") + ".";
