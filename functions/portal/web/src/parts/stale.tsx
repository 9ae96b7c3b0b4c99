// A failed change of a thing that somebody else may have changed meanwhile.

import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

import type { Action } from '../load';
import { t } from '../words';
import { ProblemBox } from './problem';
import { Seen } from './text';

interface StaleProps {
  action: Action;
  /** What the thing is now, and what the person wants. */
  theirs: string;
  mine: string;
  load: () => void;
  fields: string[];
  /** More about another failure. */
  children?: ComponentChildren;
}

/** If somebody changed the thing meanwhile, it loads the present version and shows both. Saving again saves over the present version. */
export function Stale({ action: { problem }, theirs, mine, load, fields, children }: StaleProps) {
  const stale = problem?.status === 412;
  useEffect(() => {
    if (stale) load();
  }, [problem]);
  if (!problem) return null;
  if (!stale)
    return (
      <ProblemBox problem={problem} fields={fields}>
        {children}
      </ProblemBox>
    );
  return (
    <ProblemBox problem={problem}>
      <dl class="facts">
        <div>
          <dt>{t.parts.theirs}</dt>
          <dd>
            <Seen text={theirs} />
          </dd>
        </div>
        <div>
          <dt>{t.parts.mine}</dt>
          <dd>
            <Seen text={mine} />
          </dd>
        </div>
      </dl>
      <p>{t.parts.saveOver}</p>
    </ProblemBox>
  );
}

/** Closes a question about a thing that somebody else changed, and shows the present version. */
export function LookAgain({ close, reload }: { close: () => void; reload: () => void }) {
  return (
    <button
      type="button"
      onClick={() => {
        close();
        reload();
      }}
    >
      {t.parts.lookAgain}
    </button>
  );
}
