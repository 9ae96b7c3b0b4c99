// Filters of a list. They stand in the address, so that a link or a reload shows the same list.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { address, replace, useRoute } from '../router';
import { t } from '../words';
import { TextField } from './field';

export interface Filters {
  get: (name: string) => string;
  set: (name: string, value: string) => void;
  /** For the request: a filter that is not set is absent. */
  all: Record<string, string>;
  key: string;
}

export function useFilters(names: readonly string[]): Filters {
  const route = useRoute();
  const all = Object.fromEntries(names.flatMap((name) => (route.query.get(name) ? [[name, route.query.get(name) ?? '']] : [])));
  return {
    get: (name) => all[name] ?? '',
    set: (name, value) => replace(address(route.workspaceId ?? '', route.page, { id: route.id ?? undefined, query: { ...all, [name]: value || undefined } })),
    all,
    key: JSON.stringify(all),
  };
}

export function FilterBar({ filters, children }: { filters: Filters; children: ComponentChildren }) {
  const route = useRoute();
  const clear = () => replace(address(route.workspaceId ?? '', route.page, { id: route.id ?? undefined }));
  return (
    <search class="filters" aria-label={t.parts.filters}>
      {children}
      <button type="button" onClick={clear} disabled={Object.keys(filters.all).length === 0}>
        {t.parts.clear}
      </button>
    </search>
  );
}

export function Filter({ label, name, filters, type = 'text' }: { label: string; name: string; filters: Filters; type?: 'text' | 'search' }) {
  return <Debounced label={label} name={name} type={type} value={filters.get(name)} set={(value) => filters.set(name, value)} />;
}

/** A field that filters half a second after the last key. */
function Debounced({ value: given, set, ...field }: { label: string; name: string; type: 'text' | 'search'; value: string; set: (value: string) => void }) {
  const [typed, setTyped] = useState(given);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => setTyped((old) => (old.trim() === given ? old : given)), [given]);
  const change = (text: string) => {
    setTyped(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set(text.trim()), 500);
  };
  return <TextField {...field} value={typed} set={change} />;
}
