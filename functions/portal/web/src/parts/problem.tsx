// A failed request: what it means, its code and the id by which the operator finds it.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { Problem } from '../api';
import type { Detail } from '../api';
import { session } from '../session';
import { t, title } from '../words';

/** A name of the API for what is limited or used, in words. */
const thing = (name: string): string => (t.things as Record<string, string>)[name] ?? name;

/** What a refusal means on a page. */
function meaning(problem: Problem): string | null {
  if (problem.status === 0) return t.problems.noAnswer;
  if (problem.status === 403) return session() ? t.problems.notAllowed : t.problems.signIn;
  if (problem.status === 412) return t.problems.stale;
  if (problem.code === 'SERVICE_KEY_1101') return t.problems.scopes((problem.extra['scopes'] as string[] | undefined)?.join(', ') ?? '');
  if (problem.code === 'SERVICE_SETTING_1201') return t.problems.limit(String(problem.extra['of'] ?? ''), thing(String(problem.extra['limit'] ?? '')));
  if (problem.code === 'SERVICE_SETTING_1202') return t.problems.inUse(Object.entries(problem.extra['usedBy'] ?? {}).map(([name, count]) => `${thing(name)}: ${count}`).join(', '));
  if (problem.code === 'SERVICE_SETTING_1203') return t.capture.missing((problem.extra['lacks'] as string[]).map((lack) => (t.lacks as Record<string, string>)[lack] ?? lack).join(', '));
  if (problem.status === 429) return t.problems.wait(problem.retryAfter ?? 1);
  if (problem.status >= 500) return t.problems.server;
  const reason = problem.extra['reason'];
  return typeof reason === 'string' ? ((t.reasons as Record<string, string>)[reason] ?? reason) : null;
}

export function place(detail: Detail): string {
  return detail.loc.slice(1).join('.');
}

/** The failure of one field in words. */
export function fault({ type, msg, ctx }: Detail): string {
  const limits = ctx as Record<string, unknown>;
  const known = t.faults[type as keyof typeof t.faults];
  const limit = limits['max_length'] ?? limits['min_length'] ?? limits['le'] ?? limits['ge'] ?? '';
  return known ? known(String(limit)) : msg;
}

interface Props {
  problem: Problem;
  /** Fields that show their own failures. */
  fields?: string[];
  again?: (() => void) | undefined;
  children?: ComponentChildren;
}

export function ProblemBox({ problem, fields = [], again, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [problem]);
  const rest = problem.detail.filter((detail) => !fields.includes(place(detail)));
  const says = meaning(problem);
  return (
    <div class="problem" role="alert" ref={box}>
      <p>
        <strong>{problem.status === 0 ? t.problems.unreachable : title(problem.code, problem.title)}</strong>
      </p>
      {says && <p>{says}</p>}
      {rest.length > 0 && (
        <ul>
          {rest.map((detail) => (
            <li>
              <code>{place(detail)}</code>: {fault(detail)}
            </li>
          ))}
        </ul>
      )}
      {children}
      {problem.code && (
        <p class="soft small">
          <code>{problem.code}</code>
          {problem.requestId && (
            <>
              {' · X-Request-Id '}
              <code>{problem.requestId}</code>
            </>
          )}
        </p>
      )}
      {again && (
        <button type="button" onClick={again}>
          {t.parts.again}
        </button>
      )}
    </div>
  );
}
