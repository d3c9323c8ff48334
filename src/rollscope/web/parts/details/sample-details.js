/** Details of a sample: its facts and its texts. */

import { useEffect } from "preact/hooks";
import { count, duration, worded } from "../../base/text/format.js";
import { placeOf } from "../../base/text/url.js";
import { idsAsText } from "../../rollouts/view-words.js";
import { href, view } from "../../state.js";
import { part } from "../../wire/api.js";
import { h, html } from "../html.js";
import { ModelText } from "../model-text.js";
import { numberOf, useAnswer } from "../use-answer.js";

/** @param {{id: string, title: (t: string) => void}} props */
export function SampleDetails({ id, title }) {
  const [s, error] = useAnswer(`runs/${part(view.value.run)}/samples/${part(id)}`);
  useEffect(() => title(`Sample ${id}`), [id]);
  if (error)
    return html`
      <p class="read">${error}</p>
    `;
  if (!s) return null;
  const facts = [
    ["Reward", worded(numberOf(s.reward))],
    ["Advantage", worded(numberOf(s.advantage))],
    ["Step", s.step === null ? "" : count(s.step)],
    ["Group", s.group],
    ["Environment", s.env],
    ["Tokens", s.completion_tokens === null ? "" : count(s.completion_tokens)],
    ["Stopped by", s.stop_reason],
    [
      "Trained on",
      s.trained === null ? "not yet known" : s.trained ? "yes" : `no${s.discard_reason ? `, ${s.discard_reason}` : ""}`,
    ],
    ["Generated in", s.generate_seconds === null ? "" : duration(s.generate_seconds)],
  ];
  const inGroup = {
    page: "rollouts",
    ...placeOf(s.step),
    group: s.group,
    sample: idsAsText([s.id]),
    view: "all",
    q: "",
    sort: "",
    open: "",
  };
  return html`
    <dl class="facts n">
      ${facts
        .filter(([, v]) => v && v !== "–")
        .map(
          ([k, v]) => html`
            <dt>${k}</dt>
            <dd class="model">${v}</dd>
          `,
        )}
    </dl>
    ${
      s.group
        ? html`
            <p><a href=${href(inGroup)}>Compare with its group</a></p>
          `
        : null
    }
    ${
      s.let_go
        ? html`
            <p class="read ink2">${s.let_go}</p>
          `
        : null
    }
    ${
      s.prompt
        ? html`
            <section>
              <h3>prompt</h3>
              ${h(ModelText, { text: String(s.prompt) })}
            </section>
          `
        : null
    }
    ${
      s.completion
        ? html`
            <section>
              <h3>completion</h3>
              ${h(ModelText, { text: String(s.completion) })}
            </section>
          `
        : null
    }
    ${
      s.answer
        ? html`
            <section>
              <h3>reference answer</h3>
              ${h(ModelText, { text: String(s.answer) })}
            </section>
          `
        : null
    }
  `;
}
