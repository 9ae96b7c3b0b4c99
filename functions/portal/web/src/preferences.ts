// What a person chose about the page itself. A frame may forbid storage; the choice then lasts as long as the page.

export type Language = 'en' | 'es';
export type Theme = 'light' | 'dark';
export type Clock = 'local' | 'utc';

const memory = new Map<string, string>();

export function remembered(name: string, storage: () => Storage): string | null {
  try {
    return storage().getItem(name);
  } catch {
    return memory.get(name) ?? null;
  }
}

export function remember(name: string, value: string | null, storage: () => Storage): void {
  try {
    if (value === null) storage().removeItem(name);
    else storage().setItem(name, value);
  } catch {
    if (value === null) memory.delete(name);
    else memory.set(name, value);
  }
}

const local = () => localStorage;

export function language(): Language {
  const chosen = remembered('portal.language', local) ?? navigator.language;
  return chosen.toLowerCase().startsWith('es') ? 'es' : 'en';
}

export const rememberLanguage = (chosen: Language) => remember('portal.language', chosen, local);

/** The chosen theme, or that of the system. */
export function theme(): Theme {
  const chosen = remembered('portal.theme', local);
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function chooseTheme(chosen: Theme): void {
  remember('portal.theme', chosen, local);
  document.documentElement.dataset.theme = chosen;
}

/** Applies a theme that was chosen on an earlier visit. Without a choice, the styles follow the system. */
export function applyTheme(): void {
  const chosen = remembered('portal.theme', local);
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
}

export const clock = (): Clock => (remembered('portal.clock', local) === 'utc' ? 'utc' : 'local');
export const rememberClock = (chosen: Clock) => remember('portal.clock', chosen, local);
