// A modal dialog. The browser keeps the focus inside it and gives it back at the end.

import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

import { useAction } from '../load';
import { t } from '../words';
import { ProblemBox } from './problem';

interface Props {
  title: string;
  close: () => void;
  children: ComponentChildren;
  /** Whether Escape may close it: not while it shows a secret for the only time. */
  firm?: boolean;
}

export function Dialog({ title, close, children, firm = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const gone = useRef(false);
  const id = useId();
  useLayoutEffect(() => {
    const [element, opener] = [dialog.current, document.activeElement];
    element?.showModal();
    return () => {
      gone.current = true;
      element?.close();
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  const cancelled = (event: Event) => {
    event.preventDefault();
    if (!firm) close();
  };
  // A browser closes a dialog at the second Escape, whatever the page says.
  const closed = () => {
    if (gone.current) return;
    if (firm) dialog.current?.showModal();
    else close();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={cancelled} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface Asked {
  title: string;
  /** What the act changes, and whether it can be undone. */
  effect: ComponentChildren;
  act: string;
  dangerous?: boolean;
  run: () => Promise<void>;
  close: () => void;
  /** What to do if the thing was changed by somebody else meanwhile. */
  stale?: () => ComponentChildren;
}

/** Asks before an act. It stays open until the act succeeded. */
export function Confirm({ title, effect, act, dangerous = false, run, close, stale }: Asked) {
  const action = useAction();
  const confirm = async () => {
    if (await action.run(run)) close();
  };
  return (
    <Dialog title={title} close={close}>
      <div>{effect}</div>
      {action.problem && <ProblemBox problem={action.problem}>{action.problem.status === 412 && stale?.()}</ProblemBox>}
      <div class="buttons">
        <button type="button" class={dangerous ? 'dangerous' : 'main'} disabled={action.busy} onClick={confirm}>
          {act}
        </button>
        <button type="button" onClick={close}>
          {t.parts.cancel}
        </button>
      </div>
    </Dialog>
  );
}
