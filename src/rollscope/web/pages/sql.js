/** SQL: the editor comes with a later version; the store answers SQL in the terminal and from Python today. */

import { view } from "../state.js";
import { html } from "../parts/html.js";

export const Page = () => html`<div class="bare-page"><h1>Questions in SQL</h1><p class="ink2">Not drawn here yet. The same read-only SQL answers in a terminal:</p><pre class="mono">rollscope sql ${view.value.run} "SELECT step, avg(reward) FROM samples GROUP BY step ORDER BY step"</pre></div>`;
