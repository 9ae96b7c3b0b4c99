// What a page waits for.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { Problem } from './api';

const asProblem = (error: unknown): Problem => {
  if (error instanceof Problem) return error;
  throw error;
};

export interface Load<T> {
  value: T | null;
  problem: Problem | null;
  loading: boolean;
  reload: () => void;
  set: (value: T) => void;
}

/** Loads a value, again if `key` changes. A reload keeps showing the last value. */
export function useLoad<T>(key: string, load: () => Promise<T>): Load<T> {
  const [state, setState] = useState<{ key: string; value: T | null; problem: Problem | null; loading: boolean }>({ key, value: null, problem: null, loading: true });
  const [turn, setTurn] = useState(0);
  const current = useRef(load);
  current.current = load;
  useEffect(() => {
    let live = true;
    setState((old) => ({ key, value: old.key === key ? old.value : null, problem: null, loading: true }));
    current.current().then(
      (value) => live && setState({ key, value, problem: null, loading: false }),
      (error) => live && setState((old) => ({ ...old, problem: asProblem(error), loading: false })),
    );
    return () => void (live = false);
  }, [key, turn]);
  const fresh = state.key === key;
  return {
    value: fresh ? state.value : null,
    problem: fresh ? state.problem : null,
    loading: !fresh || state.loading,
    reload: useCallback(() => setTurn((old) => old + 1), []),
    set: useCallback((value: T) => setState((old) => ({ ...old, value, problem: null, loading: false })), []),
  };
}

export interface Rows<T> {
  rows: T[] | null;
  problem: Problem | null;
  loading: boolean;
  /** Loads the next page; null on the last one. */
  more: (() => void) | null;
  reload: () => void;
  change: (change: (rows: T[]) => T[]) => void;
}

export interface PageOf<T> {
  rows: T[];
  cursor: string | null | undefined;
}

/** A list that loads a page at a time, from the start if `key` changes. */
export function useRows<T>(key: string, page: (cursor: string | undefined) => Promise<PageOf<T>>): Rows<T> {
  interface State {
    key: string;
    rows: T[] | null;
    cursor: string | null;
    problem: Problem | null;
    loading: boolean;
  }
  const empty = { key, rows: null, cursor: null, problem: null, loading: true };
  const [state, setState] = useState<State>(empty);
  const [turn, setTurn] = useState(0);
  const round = useRef(0);
  const current = useRef(page);
  current.current = page;
  const load = useCallback((cursor: string | null, before: T[]) => {
    const mine = round.current;
    current.current(cursor ?? undefined).then(
      ({ rows, cursor: next }) =>
        mine === round.current && setState((old) => ({ ...old, rows: [...before, ...rows], cursor: next || null, problem: null, loading: false })),
      (error) => mine === round.current && setState((old) => ({ ...old, problem: asProblem(error), loading: false })),
    );
  }, []);
  useEffect(() => {
    round.current++;
    setState((old) => (old.key === key && old.rows ? { ...old, problem: null, loading: true } : empty));
    load(null, []);
    return () => void round.current++;
  }, [key, turn]);
  const fresh = state.key === key;
  const more = () => {
    setState((old) => ({ ...old, problem: null, loading: true }));
    load(state.cursor, state.rows ?? []);
  };
  return {
    rows: fresh ? state.rows : null,
    problem: fresh ? state.problem : null,
    loading: !fresh || state.loading,
    more: fresh && state.cursor && !state.loading ? more : null,
    reload: useCallback(() => setTurn((old) => old + 1), []),
    change: useCallback((change) => setState((old) => ({ ...old, rows: old.rows && change(old.rows) })), []),
  };
}

/** A list that is a part of a value. */
export const rowsOf = <V, T>({ loading, reload }: Load<V>, rows: T[]): Rows<T> => ({ rows, problem: null, loading, more: null, reload, change: () => undefined });

export interface Action {
  busy: boolean;
  problem: Problem | null;
  /** Runs the action, and returns whether it succeeded. */
  run: (act: () => Promise<void>) => Promise<boolean>;
  clear: () => void;
}

export function useAction(): Action {
  const [state, setState] = useState<{ busy: boolean; problem: Problem | null }>({ busy: false, problem: null });
  return {
    ...state,
    async run(act) {
      setState({ busy: true, problem: null });
      try {
        await act();
        setState({ busy: false, problem: null });
        return true;
      } catch (error) {
        setState({ busy: false, problem: asProblem(error) });
        return false;
      }
    },
    clear: () => setState({ busy: false, problem: null }),
  };
}

/** Calls `look` every five seconds while the page is visible, for ten minutes at most. */
export function useWatch(active: boolean, look: () => void, waitSeconds = 5): void {
  const current = useRef(look);
  current.current = look;
  useEffect(() => {
    if (!active) return;
    const until = Date.now() + 600_000;
    const timer = setInterval(() => {
      if (Date.now() > until) clearInterval(timer);
      else if (!document.hidden) current.current();
    }, waitSeconds * 1000);
    return () => clearInterval(timer);
  }, [active, waitSeconds]);
}
