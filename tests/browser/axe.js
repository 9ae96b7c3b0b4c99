// The accessibility rules of axe-core.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Each violation of a rule on the page, with the elements that violate it. */
export async function violations(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run({ resultTypes: ['violations'] });
    const said = ({ target, failureSummary }) => `${target} ${failureSummary}`;
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(said).join('; ')}`);
  });
}
