/** Small controls that every page uses: the status sign, line icons, icon buttons, a choice of a
 * few. A status is a shape first, for people who do not see its colour: ✓ good, ▲ watch, ● bad, –
 * no data. */

import { useState } from "preact/hooks";
import { USER, signOut } from "../wire/api.js";
import { h, html } from "./html.js";

const SHAPES = /** @type {Record<string, any>} */ ({
  good: html`
    <path
      d="M5 8.3l2.1 2.1L11.2 6"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round" />
  `,
  watch: html`
    <path d="M8 4.6l3.7 6.6H4.3z" fill="currentColor" />
  `,
  bad: html`
    <circle cx="8" cy="8" r="3.2" fill="currentColor" />
  `,
  info: html`
    <circle cx="8" cy="5.2" r="1" fill="currentColor" />
    <path d="M8 7.6v4" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
  `,
  none: html`
    <path d="M5.6 8h4.8" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
  `,
});
const WORDS = /** @type {Record<string, string>} */ ({
  good: "healthy",
  watch: "worth a look",
  bad: "wrong",
  info: "note",
  none: "not judged",
});

/** A status mark; `against` is the reference it was held against.
 * @param {{is: string, against?: string}} props */
export function Status({ is, against }) {
  const kind = is in SHAPES ? is : "none";
  const label = against ? `${WORDS[kind]}: ${against}` : WORDS[kind];
  return html`
    <span class=${`status ${kind}`} role="img" aria-label=${label} title=${label}>
      <svg viewBox="0 0 16 16" aria-hidden="true">${SHAPES[kind]}</svg>
    </span>
  `;
}

const PATHS = /** @type {Record<string, string>} */ ({
  overview: "M2.5 8.5h2.5l1.5-4 3 8 1.7-4h2.3",
  metrics: "M2.5 12.5l3.5-4 3 2.5 4.5-6.5",
  rollouts: "M3 4h10M3 8h10M3 12h6",
  timeline: "M3 4.5h5M6 8h7M4 11.5h5",
  system: "M3.5 3.5h9v6h-9zM6 12.5h4",
  environment: "M8 2.8a5.2 5.2 0 1 0 .01 0M2.8 8h10.4M8 2.8c-3 3-3 7.4 0 10.4M8 2.8c3 3 3 7.4 0 10.4",
  evals: "M8 2.8l1.6 3.4 3.7.4-2.8 2.5.8 3.7L8 11l-3.3 1.8.8-3.7L2.7 6.6l3.7-.4z",
  compare: "M5 3v10M11 3v10M2.5 6L5 3.2 7.5 6M8.5 10l2.5 2.8L13.5 10",
  findings: "M8 3l5.5 9.5h-11zM8 6.8v2.6M8 11v.2",
  glossary: "M4 3h7.5v10H5a1 1 0 0 1-1-1zM6.5 6h3M6.5 8.5h3",
  sql:
    "M3 4.5c0-1 2.2-1.7 5-1.7s5 .7 5 1.7-2.2 1.7-5 1.7-5-.7-5-1.7z" +
    "M3 4.5v7c0 1 2.2 1.7 5 1.7s5-.7 5-1.7v-7M3 8c0 1 2.2 1.7 5 1.7S13 9 13 8",
  runs: "M3 4.5h10M3 8h10M3 11.5h10",
  facts: "M3.5 3h9v10h-9zM6 6h4M6 8.5h4M6 11h2",
  console: "M3 3.5h10v9H3zM5 6.5l2 1.5-2 1.5M8.5 10h2.5",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  close: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  back: "M9.5 4L5.5 8l4 4",
  forth: "M6.5 4l4 4-4 4",
  note: "M3 13l.6-2.8 6.9-6.9a1.2 1.2 0 0 1 1.7 0l.5.5a1.2 1.2 0 0 1 0 1.7l-6.9 6.9zM9.4 4.4l2.2 2.2",
  keys: "M2.5 4.5h11v7h-11zM5 7h.1M8 7h.1M11 7h.1M5.5 9.3h5",
  link:
    "M6.8 9.2a2.3 2.3 0 0 0 3.3 0l2-2a2.3 2.3 0 0 0-3.3-3.3l-.9.9" +
    "M9.2 6.8a2.3 2.3 0 0 0-3.3 0l-2 2a2.3 2.3 0 0 0 3.3 3.3l.9-.9",
  pin: "M8 9.5V14M5 3h6l-.8 3.6L12 9.5H4l1.8-2.9z",
  large: "M9.5 3H13v3.5M6.5 13H3V9.5M13 3L9 7M3 13l4-4",
  table: "M3 3.5h10v9h-10zM3 6.5h10M3 9.5h10M7 3.5v9",
  copy: "M5.5 5.5h7v7h-7zM10 5.5V3.5H3.5V10h2",
  theme: "M8 3a5 5 0 1 0 0 10zM8 3a5 5 0 0 1 0 10",
  download: "M8 3v6.5M5.2 7L8 9.8 10.8 7M3.5 12.5h9",
});

/** A line icon, 16 px. @param {{name: string}} props */
export const Icon = ({ name }) => html`
  <svg
    viewBox="0 0 16 16"
    aria-hidden="true"
    fill="none"
    stroke="currentColor"
    stroke-width="1.4"
    stroke-linecap="round"
    stroke-linejoin="round">
    <path d=${PATHS[name] ?? ""} />
  </svg>
`;

/** A square button with an icon. The label is its tooltip.
 * @param {{icon: string, label: string, pressed?: boolean, act: (event: MouseEvent) => void}} props
 */
export const IconButton = ({ icon, label, pressed, act }) => html`
  <button
    class="icon"
    type="button"
    aria-label=${label}
    title=${label}
    aria-pressed=${pressed === undefined ? undefined : String(pressed)}
    onClick=${act}>
    ${h(Icon, { name: icon })}
  </button>
`;

/** A field whose text is taken when a person presses Enter or leaves it. What is typed stays while
 * the page around it changes.
 * @param {{label: string, value: string, take: (text: string) => void,
 *   more?: Record<string, unknown>}} props `more`: other attributes */
export function Field({ label, value, take, more = {} }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const leave = (/** @type {any} */ e) => {
    setTyped(null);
    take(e.target.value);
  };
  return html`
    <input
      class="field n"
      aria-label=${label}
      ...${more}
      value=${typed ?? value}
      onInput=${(/** @type {any} */ e) => setTyped(e.target.value)}
      onChange=${leave} />
  `;
}

/** A choice of a few options.
 * @template {string} T
 * @param {{label: string, options: [T, string][], value: T, pick: (value: T) => void}} props */
export const Segments = ({ label, options, value, pick }) => html`
  <div class="seg" role="group" aria-label=${label}>
    ${options.map(
      ([key, text]) => html`
        <button type="button" aria-pressed=${String(key === value)} onClick=${() => pick(key)}>${text}</button>
      `,
    )}
  </div>
`;

/** Who signed in, and the way out; nothing where the server asks nobody. */
export function SignedIn() {
  if (!USER) return null;
  return html`
    <button class="signed-in cut" type="button" title=${`Signed in as ${USER}`} onClick=${signOut}>
      Sign out ${USER}
    </button>
  `;
}
