/** A sample in two lines: reward, length and fate, then the first words of its text; and what is
 * said of samples without a step. */

import { reward as rewardColor } from "../base/chart/color.js";
import { count, number, plural } from "../base/text/format.js";
import { preview } from "../base/text/model-text.js";
import { elsewhere, placeOf } from "../base/text/url.js";
import { theme } from "../prefs.js";
import { href, view } from "../state.js";
import { h, html } from "./html.js";
import { ModelLine } from "./model-text.js";

/** @param {{sample: any, label: string, open: () => void, range?: (number | null)[]}} props */
export function SampleRow({ sample: s, label, open, range = [0, 1] }) {
  const value = typeof s.reward === "number" ? s.reward : null;
  const color = rewardColor(value, range[0] ?? 0, range[1] ?? 1, theme.value);
  const fate = [
    s.tokens === null ? "" : plural(s.tokens, "token"),
    s.stop_reason === "length" ? "cut at the limit" : s.stop_reason,
    s.trained === false ? `dropped${s.discard_reason ? `, ${s.discard_reason}` : ""}` : "",
  ]
    .filter(Boolean)
    .join(", ");
  return html`
    <button class="sample" type="button" onClick=${open}>
      <span class="n">
        <i class="chip" style=${color ? { "--c": color } : {}}></i>
        ${number(value)}
      </span>
      <span>
        <span class="ink3">
          ${
            label
              ? html`
                  <b class="ink">${label}</b>
                  , ${" "}
                `
              : ""
          }${fate}
        </span>
        <span class="two">${h(ModelLine, { text: preview(s.completion || s.prompt || "", 240) })}</span>
      </span>
    </button>
  `;
}

/** Says that other samples are in no number of this page, and leads to them.
 * @param {{overview: import("../wire/types.gen").OverviewShape}} props */
export function Stepless({ overview: { samples_step: step, samples_stepless: n } }) {
  if (!n || step === null) return null;
  const there = { ...elsewhere(view.value, view.value.run, "rollouts"), ...placeOf(null) };
  return html`
    <p class="read" data-stepless=${n}>
      <a href=${href(there)}>${n === 1 ? "1 more sample names" : `${count(n)} more samples name`} no step</a>
      ${n === 1 ? " and is" : " and are"} not counted here.
    </p>
  `;
}
