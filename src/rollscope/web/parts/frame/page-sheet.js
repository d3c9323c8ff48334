/** All pages of a run, the choice of the x axis, and the other controls that a phone's bar has no
 * room for. */

import { PAGES } from "../../base/text/url.js";
import { switchTheme, theme } from "../../prefs.js";
import { pageOf, view } from "../../state.js";
import { ROOT } from "../../wire/api.js";
import { Icon, IconButton, SignedIn } from "../controls.js";
import { h, html } from "../html.js";
import { AxisChoice } from "./bar.js";
import { closeBeside, closeOverlay, copyLink } from "./overlay.js";

export function PageSheet() {
  const { run, page } = view.value;
  return html`
    <div class="veil" onPointerDown=${closeBeside}>
      <div class="sheet" role="dialog" aria-label="Pages" aria-modal="true">
        <nav class="all-pages" aria-label="All pages" onClick=${closeOverlay}>
          ${PAGES.map(
            ([name, title]) => html`
              <a href=${pageOf(run, name)} aria-current=${page === name ? "page" : undefined}>
                ${h(Icon, { name })}
                <span>${title}</span>
              </a>
            `,
          )}
          <a href=${ROOT.href}>
            ${h(Icon, { name: "runs" })}
            <span>All runs</span>
          </a>
        </nav>
        <p class="line">
          ${h(AxisChoice, {})}
          ${h(IconButton, { icon: "theme", label: theme.value === "dark" ? "Light" : "Dark", act: switchTheme })}
          ${h(IconButton, { icon: "link", label: "Copy the link to this view", act: copyLink })} ${h(SignedIn, {})}
          <button class="button" type="button" onClick=${closeOverlay}>Close</button>
        </p>
      </div>
    </div>
  `;
}
