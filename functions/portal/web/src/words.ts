// The words of the page in the chosen language.

import { language, rememberLanguage } from './preferences';
import type { Language } from './preferences';
import { codes } from './words/codes';
import { en } from './words/en';
import type { Words } from './words/en';
import { es } from './words/es';

const ALL: Record<Language, Words> = { en, es };

export let spoken: Language = language();
export let t: Words = ALL[spoken];
document.documentElement.lang = spoken;

export function speak(chosen: Language): void {
  spoken = chosen;
  t = ALL[chosen];
  document.documentElement.lang = chosen;
  rememberLanguage(chosen);
}

/** A word that the API uses, such as a state, in the language of the page; itself if it is unknown. */
export const word = (apis: string): string => (t.states as Record<string, string>)[apis] ?? apis;

/** The title of an error code. */
export const title = (code: string | null, theirs: string): string => (code && codes[code]?.[spoken === 'en' ? 0 : 1]) || theirs;
