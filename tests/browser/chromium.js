// Where the browser is; run by itself it says so, or what to install.

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

export function chromium() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const places = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), MAC];
  return process.env.CHROMIUM ?? places.find((place) => existsSync(place));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const found = chromium();
  if (!found) {
    console.error('chromium is missing: install it (Debian: apt-get install chromium), or name it by CHROMIUM=/path.');
    process.exit(1);
  }
  console.log(found);
}
