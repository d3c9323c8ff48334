/** The Runs page of an empty store: the code that records a first run. */

import { html } from "./html.js";
import { say } from "./frame/overlay.js";

const CODE = `import rollscope as rs

run = rs.init(project="countdown", name="grpo-1", config={"lr": 1e-6})
for step in range(1000):
    batch = train_step()                   # your loop
    run.log_batch(batch, step=step)        # entropy, KL, reward, ...
    run.log({"optimiser/lr": 1e-6}, step=step)
    run.log_samples(step=step, samples=batch_samples)
    run.commit(step)
run.finish()`;

export function EmptyStore() {
  const copy = () =>
    navigator.clipboard?.writeText(CODE).then(
      () => say("Copied"),
      () => say("The browser did not allow copying"),
    );
  return html`
    <div class="empty" data-state="empty">
      <h1>No runs yet</h1>
      <p class="ink2">These ten lines record a run. It appears here as soon as the first row is written.</p>
      <pre><code>${CODE}</code></pre>
      <p><button class="button" type="button" onClick=${copy}>Copy</button></p>
      <p class="ink2">
        No training at hand? ${" "}
        <code>rollscope demo</code>
        ${" "} trains a small model and records it. To read the logs of another tool, use ${" "}
        <code>rollscope import PATH</code>
        .
      </p>
    </div>
  `;
}
