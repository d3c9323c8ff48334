/** The drawing of a sample by its environment's viewer, above its text. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { h, html } from "../../parts/html.js";
import { loaded } from "../selection.js";
import { Drawing } from "./drawing.js";
import { viewerOf } from "./sources.js";

const LONGEST = 400; // characters of an environment's name that a file can have

/** The viewer of an environment; null until it is known or if there is none.
 * @param {string} env @returns {import("./sources.js").Viewer | null} */
export function useViewer(env) {
  const [found, setFound] = useState(/** @type {import("./sources.js").Viewer | null} */ (null));
  const run = loaded.value?.run ?? "";
  useEffect(() => {
    let here = true;
    setFound(null);
    if (run && env && env.length <= LONGEST && env.isWellFormed())
      viewerOf(run, env).then(
        (viewer) => here && setFound(viewer),
        () => {},
      );
    return () => {
      here = false;
    };
  }, [run, env]);
  return found && found.state !== "none" ? found : null;
}

/** @param {{sample: any}} props */
export function Viewer({ sample }) {
  const env = String(sample.env ?? "");
  const viewer = useViewer(env);
  const sources = useMemo(() => Promise.resolve({ draw: viewer?.source ?? "" }), [viewer]);
  if (!viewer) return null;
  if (viewer.state !== "trusted")
    return html`
      <p class="small watch" role="note" data-viewer=${viewer.state}>${viewer.says}</p>
    `;
  return html`
    <section class="turn" data-viewer="trusted">
      ${h(Drawing, { label: `The drawing of ${env}`, sources, input: sample })}
    </section>
  `;
}
