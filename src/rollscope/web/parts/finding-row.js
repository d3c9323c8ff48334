/** A finding in one row: severity, claim, steps, evidence, first check, a small chart, and a link
 * to the samples. */

import { useEffect, useRef } from "preact/hooks";
import { count } from "../base/text/format.js";
import { Plot } from "../charts/plot.js";
import { go, href } from "../state.js";
import { h, html } from "./html.js";
import { Status } from "./controls.js";

/** @typedef {import("../wire/types.gen").FindingShape} FindingShape */

/** @param {{f: FindingShape, at?: boolean}} props */
export function FindingRow({ f, at }) {
  const first = f.check[0] ?? "";
  const ending = /[.?!]$/.test(first) ? "" : ".";
  const check = first ? ` First check: ${first.charAt(0).toLowerCase()}${first.slice(1)}${ending}` : "";
  const name = f.metrics[0];
  return html`
    <div class=${at ? "finding at" : "finding"} data-finding=${f.rule}>
      ${h(Status, { is: f.severity })}
      <div>
        <button class="claim" type="button" onClick=${() => go({ open: `finding:${f.rule}@${f.step}` })}>
          ${f.claim}${" "}
          <span>from step ${count(f.step)}${f.until === null ? "" : ` to ${count(f.until)}`}</span>
        </button>
        <p class="evidence">${f.evidence}${check}</p>
      </div>
      ${
        name
          ? h(Evidence, { name, rule: f.rule, step: f.step })
          : html`
              <span></span>
            `
      }
      <a class="button" href=${href({ page: "rollouts", step: f.until ?? f.step, open: "" })}>See the samples</a>
    </div>
  `;
}

/** A small chart of the finding's first metric with its own stretch, without a cursor.
 * @param {{name: string, rule: string, step: number}} props */
function Evidence({ name, rule, step }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    const plot = new Plot(
      /** @type {HTMLDivElement} */ (host.current),
      () => ({
        metrics: [{ name, label: "" }],
        finding: { rule, step },
        unit: "",
        range: [null, null],
        healthy: [null, null],
        xLabels: false,
        still: true,
        plain: true,
      }),
      () => {},
    );
    return () => plot.destroy();
  }, [name, rule, step]);
  return html`
    <div class="plot evidence-plot" ref=${host} role="img" aria-label=${`${name} over the run`}></div>
  `;
}
