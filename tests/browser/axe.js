// The accessibility rules of axe-core.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const SAID = `window.said = ({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ target, failureSummary }) => target + ' ' + failureSummary).join('; '));`;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8') + SAID;

/** Options for the rules that a page in dark can break if it keeps all rules in light, and for the others. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
const COLOURS = { runOnly: OF_COLOURS };
export const ALL_BUT_COLOURS = { rules: Object.fromEntries(OF_COLOURS.map((rule) => [rule, { enabled: false }])) };

/** Each violation of a rule on the page, with the elements that violate it. `options` of axe-core select rules. */
export async function violations(page, options = {}) {
  await page.evaluate(AXE);
  return page.evaluate(async (options) => window.said(await window.axe.run({ resultTypes: ['violations'], ...options })), options);
}

/** The same for the rules of colours, on the first text of each kind: of the elements with the same names and classes, also of all around them. */
export async function violationsOfColours(page) {
  await page.evaluate(AXE);
  return page.evaluate(async (options) => {
    const kind = (element) => element && `${kind(element.parentElement)} ${element.localName}.${element.className}`;
    const kinds = new Map();
    for (const element of document.body.querySelectorAll('*')) {
      const hasText = [...element.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim() !== '');
      if (hasText && element.checkVisibility() && !kinds.has(kind(element))) kinds.set(kind(element), element);
    }
    return window.said(await window.axe.run({ include: [...kinds.values()] }, { resultTypes: ['violations'], ...options }));
  }, COLOURS);
}
