// The accessibility rules of axe-core.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules that a page in one colour scheme can break if the same page in the other keeps all rules. */
export const COLOURS = ['cat.color'];

/** Each violation of a rule on the page, with the elements that violate it. `tags` selects rules. */
export async function violations(page, tags) {
  await page.evaluate(AXE);
  return page.evaluate(async (tags) => {
    const { violations } = await window.axe.run({ resultTypes: ['violations'], ...(tags && { runOnly: tags }) });
    const said = ({ target, failureSummary }) => `${target} ${failureSummary}`;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(said).join('; ')}`);
  }, tags);
}
