/** Evals: cards of evaluation scores over steps. */

import { h, html } from "../parts/html.js";
import { CardPage } from "../parts/cards/card-page.js";

export const Page = () =>
  h(CardPage, {
    fits: (name) => /^(eval|val|val-core|val-aux|test|bench)\//.test(name),
    none: html`
      <h1>No evaluations yet</h1>
      <p class="ink2">
        <code>run.log_eval("gsm8k", step=step, results=[...])</code>
        ${" "} draws this page.
      </p>
    `,
  });
