/** How it unfolded: a row per finding on the tape's own x, each joined to its cause by an elbow. */

import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../../base/text/format.js";
import { toX } from "../../charts/run-drawings.js";
import { go, step, tape } from "../../state.js";
import { html } from "../html.js";

/** @typedef {import("../../wire/types.gen").FindingShape} FindingShape */
/** @typedef {import("../../base/text/chain.js").Link<FindingShape>} Link */

const ROW = 22;
const BAND = 14;
const TOP = 6;
const LABEL = 210; // pixels that a label needs beside its onset

/** @param {{chain: Link[]}} props */
export function ChainCard({ chain }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => {
      if (entry) setWidth(entry.contentRect.width);
    });
    if (host.current) watch.observe(host.current);
    return () => watch.disconnect();
  }, []);
  const t = tape.value;
  const height = chain.length * ROW + 2 * TOP;
  const lo = t?.first ?? 0;
  const frame = { width, height, pad: 0, lo, hi: Math.max(t?.last ?? 1, lo + 1) };
  const x = toX(frame);
  return html`
    <div class="card chain" ref=${host} role="group" aria-label="How it unfolded">
      ${
        width
          ? html`
              <svg width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`}>
                ${chain.map((link, i) => row(chain, i, x, frame.hi, width))}
                <line class="caret" x1=${x(step.value)} x2=${x(step.value)} y1="0" y2=${height} />
              </svg>
            `
          : null
      }
    </div>
  `;
}

/** @param {Link[]} chain @param {number} i @param {(step: number) => number} x @param {number} last
 * @param {number} width */
function row(chain, i, x, last, width) {
  const { f, depth } = /** @type {Link} */ (chain[i]);
  const top = TOP + i * ROW + (ROW - BAND) / 2;
  const from = x(f.step);
  const to = Math.max(from + 3, x(f.until ?? last));
  const open = () => go({ step: f.step, open: `finding:${f.rule}@${f.step}` });
  const onLeft = from > LABEL;
  const anchor = onLeft ? { x: from - 8, "text-anchor": "end" } : { x: from + 8, "text-anchor": "start" };
  const cause = depth ? chain.find((link) => link.f.rule === f.cause) : undefined;
  return html`
    <g class=${`link ${f.severity}`} onClick=${open}>
      <title>${f.claim} from step ${f.step}</title>
      ${cause ? elbow(x(cause.f.step), TOP + chain.indexOf(cause) * ROW + ROW / 2 + 7, from, top + BAND / 2) : null}
      <rect class="soft" x=${from} y=${top} width=${to - from} height=${BAND} />
      <rect class="edge" x=${from} y=${top} width=${to - from} height="2" />
      <circle cx=${from} cy=${top + BAND / 2} r="3" />
      <text ...${anchor} y=${top + 11}>
        <tspan class=${i ? "" : "first"}>${f.claim}</tspan>
        <tspan class="later">${later(chain, i)}</tspan>
        <tspan class="onset">${` ${count(f.step)}`}</tspan>
      </text>
      ${
        width - to > 60
          ? html`
              <text class="later" x=${to + 8} y=${top + 11}>
                ${f.until === null ? "still so" : `to ${count(f.until)}`}
              </text>
            `
          : null
      }
    </g>
  `;
}

/** A line down from the cause's onset and across to this one.
 * @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
const elbow = (x0, y0, x1, y1) => html`
  <path class="elbow" d=${`M${x0} ${y0}V${y1}H${x1 - 4}`} />
`;

/** How long after the first of the chain it began. @param {Link[]} chain @param {number} i */
function later(chain, i) {
  const steps = /** @type {Link} */ (chain[i]).f.step - /** @type {Link} */ (chain[0]).f.step;
  return i && steps > 0 ? ` ${count(steps)} steps later` : "";
}
