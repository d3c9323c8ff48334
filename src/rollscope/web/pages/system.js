/** System: cards of host, engine and performance metrics. */

import { h, html } from "../parts/html.js";
import { CardPage } from "../parts/cards/card-page.js";

export const Page = () =>
  h(CardPage, {
    fits: (name) => /^(host|engine|perf|balance|time|timing)[/_]/.test(name),
    first: ["host", "engine", "perf", "balance"],
    none: html`
      <h1>No machine was recorded</h1>
      <p class="ink2">
        <code>rs.init(..., host=True)</code>
        ${" "} records CPU, memory, disk, network and GPUs once a second; ${" "}
        <code>scrape="http://engine:8000/metrics"</code>
        ${" "} adds inference engines.
      </p>
    `,
  });
