/** The page for an address that names no page. */

import { html } from "../parts/html.js";
import { ROOT } from "../wire/api.js";

export const Page = () => html`
  <div class="bare-page">
    <h1>Page not found</h1>
    <p class="ink2">
      There is no page at this address. ${" "}
      <a href=${ROOT.href}>All runs</a>
    </p>
  </div>
`;
