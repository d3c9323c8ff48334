/** A tool call of a conversation, folded. */

import { useEffect, useRef } from "preact/hooks";
import { duration } from "../base/text/format.js";
import { Status } from "../parts/controls.js";
import { h, html } from "../parts/html.js";
import { ModelLine } from "../parts/model-text.js";
import { writeText } from "./text-blocks.js";

/** A tool call, folded: its name, duration, outcome and the start of its result.
 * @param {{call: any}} props */
export function Call({ call }) {
  const failed = call.ok === false;
  const result = String(call.result ?? call.content ?? "");
  return html`
    <details class=${failed ? "call failed" : "call"}>
      <summary>
        ${h(Status, { is: failed ? "bad" : call.ok ? "good" : "none" })}
        <b class="cut">${h(ModelLine, { text: String(call.tool) })}</b>
        <span class="ink3 n">${call.seconds === null ? "" : duration(call.seconds)}</span>
        <span class=${failed ? "bad" : "ink3"}>${failed ? "failed" : call.ok ? "ok" : ""}</span>
        <span class="cut ink3 first">${h(ModelLine, { text: result.slice(0, 80).replace(/\s+/g, " ") })}</span>
      </summary>
      ${
        call.arguments
          ? html`
              <h3>arguments</h3>
              ${h(Plain, { text: String(call.arguments) })}
            `
          : null
      }${
        result
          ? html`
              <h3>result</h3>
              ${h(Plain, { text: result })}
            `
          : null
      }
    </details>
  `;
}

/** @param {{text: string}} props */
function Plain({ text }) {
  const host = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => {
    if (host.current) {
      host.current.replaceChildren();
      writeText(host.current, text);
    }
  }, [text]);
  return html`
    <div class="model mono" ref=${host}></div>
  `;
}
