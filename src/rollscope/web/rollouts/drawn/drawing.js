/** A drawing in a sandboxed frame; what fails says why, and shows what it was made from. */

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../../parts/html.js";
import { theme } from "../../prefs.js";
import { ROOT } from "../../wire/api.js";

const SECONDS = 3; // a drawing may take
const PATIENCE = 30_000; // ms for a frame that does not even say that the drawing took too long
const HIGHEST = 20_000; // pixels of a frame
let jobs = 0;

/** `sources` are the modules of the frame by name; the one called `draw` draws. They may still be
 * on their way. `plain` is shown if the drawing fails.
 * @param {{label: string, sources: Promise<Record<string, string>>, input: any,
 *   plain?: any}} props */
export function Drawing({ label, sources, input, plain = null }) {
  const host = useRef(/** @type {HTMLIFrameElement | null} */ (null));
  const [loads, setLoads] = useState(0); // of the frame
  const [height, setHeight] = useState(0);
  const [error, setError] = useState("");
  const dark = theme.value === "dark";
  useEffect(() => {
    if (!loads) return;
    const job = ++jobs;
    setError("");
    let [late, wanted] = [0, true];
    const hear = (/** @type {MessageEvent} */ event) => {
      if (event.source !== host.current?.contentWindow || event.data?.job !== job) return;
      clearTimeout(late);
      setError(String(event.data.error ?? ""));
      setHeight(Math.min(HIGHEST, Number(event.data.height) || 0));
    };
    addEventListener("message", hear);
    sources.then(
      (list) => {
        if (!wanted) return;
        late = setTimeout(() => setError("the frame did not answer"), PATIENCE);
        host.current?.contentWindow?.postMessage({ job, sources: list, input, seconds: SECONDS, dark }, "*");
      },
      (e) => setError(e.message),
    );
    return () => {
      wanted = false;
      removeEventListener("message", hear);
      clearTimeout(late);
    };
  }, [loads, sources, input, dark]);
  if (error)
    return html`
      <p class="small watch" role="note" data-drawing="failed">${label} cannot be shown: ${error.slice(0, 300)}.</p>
      ${plain}
    `;
  return html`
    <iframe
      class="drawing"
      ref=${host}
      title=${label}
      sandbox="allow-scripts"
      referrerpolicy="no-referrer"
      data-drawing=${height ? "drawn" : "asked"}
      style=${{ height: `${Math.max(20, height)}px` }}
      src=${new URL("frame", ROOT).href}
      onLoad=${() => setLoads((n) => n + 1)}></iframe>
  `;
}
