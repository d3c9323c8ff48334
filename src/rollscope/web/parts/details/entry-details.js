/** Details of a metric: its entry in the catalogue. */

import { useEffect } from "preact/hooks";
import { count } from "../../base/text/format.js";
import { names } from "../../state.js";
import { part } from "../../wire/api.js";
import { Entry } from "../glossary/entry.js";
import { h, html } from "../html.js";
import { useAnswer } from "../use-answer.js";

/** @param {{id: string, title: (t: string) => void}} props */
export function EntryDetails({ id, title }) {
  const [answer, error] = useAnswer(`glossary/entry?name=${part(id)}`);
  useEffect(() => title(id), [id]);
  const info = names.value?.find((m) => m.name === id);
  if (error)
    return html`
      <p class="read">
        The catalogue has no entry for this name. It is shown as it was
        logged${info ? `: ${count(info.count)} points, ${info.kind}` : ""}.
      </p>
      <p class="read ink3">${error}</p>
    `;
  if (!answer) return null;
  return h(Entry, { answer, short: true });
}
