/** Text that a model wrote. Characters that would move, hide or colour other text are shown as
 * pills. */

import { withPills } from "../base/text/model-text.js";
import { html } from "./html.js";

const BLOCK = 8000;

/** A long text, in blocks that cost nothing out of view.
 * @param {{text: string, most?: number}} props */
export function ModelText({ text, most = 200000 }) {
  const blocks = [];
  for (let from = 0; from < Math.min(text.length, most); from += BLOCK)
    blocks.push(text.slice(from, Math.min(from + BLOCK, most)));
  return html`
    <div class="model mono">
      ${blocks.map(
        (block) => html`
          <div class="textblock">
            ${withPills(block).map((p) =>
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

/** A text on one line. @param {{text: string}} props */
export const ModelLine = ({ text }) => html`
  <span class="model">
    ${withPills(text).map((p) =>
      p.pill
        ? html`
            <span class="pill">${p.text}</span>
          `
        : p.text,
    )}
  </span>
`;
