/** An address that leads nowhere. */

import { ROOT } from "../wire/api.js";
import { html } from "../parts/html.js";

export const Page = () => html`
  <div class="bare-page">
    <h1>Nothing is here</h1>
    <p class="ink2">
      This address belongs to no page. ${" "}
      <a href=${ROOT.href}>All runs</a>
    </p>
  </div>
`;
