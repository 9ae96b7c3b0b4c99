// The path of the browser. tests/machine/check.sh looks for it, so that its names are in one place.

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const CHECK = fileURLToPath(new URL('../machine/check.sh', import.meta.url));

export function chromium() {
  return execFileSync('sh', [CHECK, 'chromium'], { encoding: 'utf8' }).trim();
}
