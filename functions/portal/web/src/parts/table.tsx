// A list: a table on wide screens, a card for each row on narrow ones.

import type { ComponentChildren } from 'preact';

import type { Rows } from '../load';
import { t } from '../words';
import { ProblemBox } from './problem';

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** The share of the width. */
  width?: number;
}

interface Props<T> {
  label: string;
  list: Rows<T>;
  id: (row: T) => string;
  columns: Column<T>[];
  empty: ComponentChildren;
}

const SKELETONS = 8;

export function Table<T>({ label, list, id, columns, empty }: Props<T>) {
  const { rows, problem, loading, more, reload } = list;
  if (problem && !rows) return <ProblemBox problem={problem} again={reload} />;
  if (rows?.length === 0 && !more && !loading) return <div class="empty">{empty}</div>;
  const all = columns.reduce((sum, { width = 1 }) => sum + width, 0);
  const says = loading ? t.parts.loading : t.parts.rows(rows?.length ?? 0, more === null);
  return (
    <>
      <span role="status" class="unseen">
        {says}
      </span>
      <table role="table" aria-label={label} aria-busy={loading}>
        <colgroup>
          {columns.map(({ title, width = 1 }) => (
            <col key={title} width={`${(100 * width) / all}%`} />
          ))}
        </colgroup>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title }) => (
              <th key={title} role="columnheader" scope="col">
                {title || <span class="unseen">{t.parts.actions}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows
            ? rows.map((row) => (
                <tr key={id(row)} role="row">
                  {columns.map(({ title, cell }) => (
                    <td key={title} role="cell" data-title={title}>
                      <div>{cell(row)}</div>
                    </td>
                  ))}
                </tr>
              ))
            : Array.from({ length: SKELETONS }, (_, row) => (
                <tr key={row} role="row" class="skeleton">
                  {columns.map(({ title }) => (
                    <td key={title} role="cell" data-title={title}>
                      <span class="bone">&nbsp;</span>
                    </td>
                  ))}
                </tr>
              ))}
        </tbody>
      </table>
      {rows?.length === 0 && more && <p class="soft">{t.parts.shortPage}</p>}
      {problem && <ProblemBox problem={problem} again={more ?? reload} />}
      {rows && (
        <p class="foot">
          {more && (
            <button type="button" onClick={more}>
              {t.parts.more}
            </button>
          )}
          <span class="soft small" aria-hidden="true">
            {says}
          </span>
        </p>
      )}
    </>
  );
}

/** The properties of one thing. */
export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Holds the place of what is loading. */
export function Bones({ lines }: { lines: number }) {
  return (
    <div class="bones" role="status" aria-label={t.parts.loading}>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line}>
          <span class="bone">&nbsp;</span>
        </div>
      ))}
    </div>
  );
}
