/** The tag html makes plain elements. Write components as h(Component, props): the compiler checks
 * only those. */

import htm from "htm";
import { h } from "preact";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
export { h };
