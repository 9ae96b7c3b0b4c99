import { useState } from 'preact/hooks';

import { t } from '../words';
import { Dialog } from './dialog';

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState<'copied' | 'refused' | null>(null);
  const copy = () =>
    navigator.clipboard.writeText(text).then(
      () => setDone('copied'),
      () => setDone('refused'),
    );
  return (
    <>
      <button type="button" onClick={copy} aria-label={label}>
        {done === 'copied' ? t.parts.copied : t.parts.copy}
      </button>
      <span role="status" class="unseen">
        {done === 'copied' ? t.parts.copied : done === 'refused' ? t.parts.notCopied : ''}
      </span>
    </>
  );
}

interface Props {
  title: string;
  name: string;
  /** Null in the answer to a repeated request. */
  secret: string | null;
  note: string;
  close: () => void;
}

/** Shows a secret for the only time, and closes only when the reader says that it is saved. */
export function Secret({ title, name, secret, note, close }: Props) {
  const [saved, setSaved] = useState(false);
  return (
    <Dialog title={title} close={close} firm={secret !== null && !saved}>
      {secret === null ? (
        <p>{t.parts.noSecret}</p>
      ) : (
        <>
          <p>
            <strong>{t.parts.once}</strong> {note}
          </p>
          <p class="secret">
            <code tabIndex={0} aria-label={name}>
              {secret}
            </code>
            <Copy text={secret} label={`${t.parts.copy}: ${name}`} />
          </p>
          <label class="check">
            <input type="checkbox" checked={saved} onChange={(event) => setSaved(event.currentTarget.checked)} /> {t.parts.saved}
          </label>
        </>
      )}
      <div class="buttons">
        <button type="button" class="main" disabled={secret !== null && !saved} onClick={close}>
          {t.parts.done}
        </button>
      </div>
    </Dialog>
  );
}
