/** The marks of a sample under its head: star, labels, sets, comments, and the way to more. */

import { NO_MARKS } from "../../base/samples/marks.js";
import { plural } from "../../base/text/format.js";
import { h, html } from "../../parts/html.js";
import { ModelLine } from "../../parts/model-text.js";
import { marked, marking, setLabel, setMember, setStar } from "./marks.js";

/** @param {{id: string}} props */
export function MarkBar({ id }) {
  const marks = marked.value.get(id) ?? NO_MARKS;
  const open = marking.value.length === 1 && marking.value[0] === id;
  return html`
    <div class="marks">
      ${h(Star, { id, on: marks.star })}
      ${marks.labels.map((/** @type {string} */ label) =>
        h(Word, { text: label, drop: () => setLabel([id], label, false) }),
      )}
      ${marks.sets.map((/** @type {string} */ set) =>
        h(Word, { text: `in ${set}`, drop: () => setMember([id], set, false) }),
      )}
      <button
        class="link small"
        type="button"
        aria-expanded=${String(open)}
        title="Label, comment, put into a set (a)"
        onClick=${() => (marking.value = open ? [] : [id])}>
        ${marks.comments.length ? plural(marks.comments.length, "comment") : "Mark"}
      </button>
    </div>
  `;
}

/** @param {{id: string, on: boolean}} props */
const Star = ({ id, on }) => html`
  <button
    class=${on ? "star on" : "star"}
    type="button"
    aria-label="Star this sample"
    aria-pressed=${String(on)}
    title=${on ? "Take the star away (b)" : "Star this sample (b)"}
    onClick=${() => setStar([id], !on)}>
    ${on ? "★" : "☆"}
  </button>
`;

/** A mark that a click takes away. @param {{text: string, drop: () => unknown}} props */
const Word = ({ text, drop }) => html`
  <button class="word" type="button" title="Take it away" onClick=${drop}>
    <span class="cut">${h(ModelLine, { text })}</span>
    <span aria-hidden="true">×</span>
  </button>
`;
