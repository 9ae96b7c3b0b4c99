// Times in the reader's zone, or in UTC on demand.

import { clock } from '../preferences';
import { spoken } from '../words';

export function shown(at: string | number | Date, parts: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'medium' }): string {
  const utc = clock() === 'utc';
  const text = new Intl.DateTimeFormat(spoken === 'en' ? 'en-GB' : 'es-ES', utc ? { ...parts, timeZone: 'UTC' } : parts).format(new Date(at));
  return utc && parts.timeStyle ? `${text} UTC` : text;
}

export function Time({ at, none }: { at: string | null | undefined; none?: string }) {
  if (!at) return <span class="soft">{none ?? '–'}</span>;
  return (
    <time dateTime={at} title={new Date(at).toISOString()}>
      {shown(at)}
    </time>
  );
}

/** The value of an `<input type="datetime-local">` as a moment of the API, and back. */
export function momentOf(local: string): string {
  const at = new Date(clock() === 'utc' ? `${local}Z` : local);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

export function localOf(moment: string): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return '';
  const shift = clock() === 'utc' ? 0 : at.getTimezoneOffset() * 60_000;
  return new Date(at.getTime() - shift).toISOString().slice(0, 16);
}
