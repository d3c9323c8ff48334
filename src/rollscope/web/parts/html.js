/** html for plain elements; components are written h(Component, props), because only that is checked by the compiler. */

import htm from "htm";
import { h } from "preact";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
export { h };
