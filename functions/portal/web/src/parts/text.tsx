// Texts of customers and receivers. They are text nodes only, and what a reader cannot see is shown escaped.

import { useState } from 'preact/hooks';

import { t } from '../words';

// Control characters but line feed and tab, format characters (among them those that change the direction) but the joiner of emoji,
// and surrogates without a partner.
const UNSEEN = /(?![\n\t\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

const FIRST = 64 * 1024;

function escaped(found: string): string {
  const code = found.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** A text with its invisible characters shown. `dir=auto` lets it stand in its own direction, without an effect on its neighbours. */
export function Seen({ text }: { text: string }) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(UNSEEN)) {
    parts.push(text.slice(end, found.index), <span class="escaped">{escaped(found[0])}</span>);
    end = found.index + found[0].length;
  }
  parts.push(text.slice(end));
  return <bdi>{parts}</bdi>;
}

/** A text that can be absent. */
export const Maybe = ({ text }: { text: string | null }) => (text ? <Seen text={text} /> : <span class="soft">–</span>);

/** A long text: its first 64 KB, and the rest on demand. */
export function Long({ text, label }: { text: string; label: string }) {
  const [whole, setWhole] = useState(false);
  const cut = !whole && text.length > FIRST;
  return (
    <>
      <pre class="body" tabIndex={0} role="region" aria-label={label}>
        <Seen text={cut ? text.slice(0, FIRST) : text} />
      </pre>
      {cut && (
        <button type="button" onClick={() => setWhole(true)}>
          {t.parts.showAll(text.length)}
        </button>
      )}
    </>
  );
}

/** JSON with indents, if it is JSON. */
export function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
