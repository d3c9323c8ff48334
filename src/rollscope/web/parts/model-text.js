/** Text that a model wrote: shown as it is, in blocks, isolated; whatever would move, hide or colour the rest is a pill. */

import { pieces } from "../base/text/model-text.js";
import { html } from "./html.js";

const BLOCK = 8000;

/** @param {{text: string, most?: number}} props */
export function ModelText({ text, most = 200000 }) {
  const blocks = [];
  for (let from = 0; from < Math.min(text.length, most); from += BLOCK)
    blocks.push(text.slice(from, Math.min(from + BLOCK, most)));
  return html`
    <div class="model mono">
      ${blocks.map(
        (block) => html`
          <div class="textblock">
            ${pieces(block).map((p) =>
              p.pill
                ? html`
                    <span class="pill">${p.text}</span>
                  `
                : p.text,
            )}
          </div>
        `,
      )}${
        text.length > most
          ? html`
              <p class="ink3">and ${text.length - most} characters more</p>
            `
          : null
      }
    </div>
  `;
}

/** A line of it. @param {{text: string}} props */
export const ModelLine = ({ text }) => html`
  <span class="model">
    ${pieces(text).map((p) =>
      p.pill
        ? html`
            <span class="pill">${p.text}</span>
          `
        : p.text,
    )}
  </span>
`;
