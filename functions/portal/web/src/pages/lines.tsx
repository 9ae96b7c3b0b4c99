// The phone numbers that send and receive messages, with what WhatsApp says of them.

import type { ComponentChildren } from 'preact';

import { client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { useLoad, useRows, useWatch } from '../load';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones, Facts, Table } from '../parts/table';
import { Long, Maybe, Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address } from '../router';
import { spoken, t, word } from '../words';
import { allBrands } from './brands';

export type Line = Schemas['Line'];

export const allLines = async (): Promise<Line[]> => (await value(client.GET('/service/api/v1/workspaces/{workspaceId}/settings/lines', { params: { path: workspace() } }))).lines;

export const lineName = ({ displayPhoneNumber, providerChannelId }: Line) => displayPhoneNumber ?? providerChannelId;

const ahead = (at: string | null): boolean => at !== null && new Date(at) > new Date();

export interface Fault {
  key: string;
  badge: string;
  says: ComponentChildren;
}

/** What is wrong with a line or its account, and what to do about it. */
export function faultsOf({ throttledUntil, status, quality, account }: Line): Fault[] {
  const faults: Fault[] = [];
  if (ahead(throttledUntil)) {
    const says = (
      <>
        {t.lines.throttled} <Time at={throttledUntil} />. {t.lines.throttledAdvice}
      </>
    );
    faults.push({ key: 'throttled', badge: t.lines.isThrottled, says });
  }
  if (status !== null && status !== 'CONNECTED') faults.push({ key: 'status', badge: word(status), says: t.lines.notConnected(word(status)) });
  if (quality === 'RED') faults.push({ key: 'quality', badge: t.lines.lowQuality, says: t.lines.lowQualityAdvice });
  if (account.status !== 'ACTIVE') faults.push({ key: 'account', badge: `${t.lines.account}: ${word(account.status)}`, says: t.lines.accountIs(word(account.status)) });
  for (const { type, until, remediation } of account.restrictions) {
    if (until && !ahead(until)) continue;
    const says = (
      <>
        {t.lines.restricted} <code>{type}</code>
        {until && (
          <>
            {' '}
            {t.lines.until} <Time at={until} />
          </>
        )}
        . {remediation && <Seen text={remediation} />}
      </>
    );
    faults.push({ key: type, badge: t.lines.isRestricted, says });
  }
  if (account.syncError !== null) {
    const says = (
      <>
        {t.lines.syncError} <Seen text={account.syncError} />
      </>
    );
    faults.push({ key: 'sync', badge: t.lines.notRead, says });
  }
  return faults;
}

/** How many people a line may write to in a day. WhatsApp says it in words such as TIER_1K. */
export function limitIn(limit: string | null): string | null {
  const [, digits, thousands] = limit?.match(/^(?:TIER_)?(\d+)(K?)$/) ?? [];
  if (digits) return t.lines.people(new Intl.NumberFormat(spoken).format(Number(digits) * (thousands ? 1000 : 1)));
  return limit === 'TIER_UNLIMITED' ? t.lines.unlimited : limit;
}

function State({ line }: { line: Line }) {
  const faults = faultsOf(line);
  return (
    <span class="badges">
      {faults.length === 0 && <Badge state={line.status ?? ''} words={line.status ? word(line.status) : t.templates.unknown} />}
      {[...new Set(faults.map(({ badge }) => badge))].map((badge) => (
        <Badge key={badge} state="FAILED" words={badge} />
      ))}
    </span>
  );
}

const Quality = ({ quality }: { quality: string | null }) => (quality ? <Badge state={quality} words={word(quality)} /> : <span class="soft">–</span>);

interface Owned {
  line: Line;
  brand: string;
}

async function owned(): Promise<Owned[]> {
  const [lines, brands] = await Promise.all([allLines(), allBrands()]);
  return lines.map((line) => ({ line, brand: brands.find(({ id }) => id === line.brandId)?.name ?? line.brandId }));
}

export function Lines() {
  const list = useRows<Owned>('lines', async () => ({ rows: await owned(), cursor: null }));
  useWatch(list.rows?.some(({ line }) => ahead(line.throttledUntil)) ?? false, list.reload);
  return (
    <Page title={t.lines.title} name={t.lines.title} intro={t.lines.intro}>
      <Table
        label={t.lines.title}
        list={list}
        id={({ line }) => line.providerChannelId}
        empty={<p>{t.lines.empty}</p>}
        columns={[
          {
            title: t.lines.one,
            width: 4,
            cell: ({ line }) => (
              <>
                <a href={address(workspace().workspaceId, 'lines', { id: line.providerChannelId })}>
                  <Seen text={lineName(line)} />
                </a>{' '}
                {line.isDefault && <span class="badge">{t.lines.isDefault}</span>}
                {(line.name ?? line.verifiedName) && (
                  <div class="soft small">
                    <Seen text={line.name ?? line.verifiedName ?? ''} />
                  </div>
                )}
              </>
            ),
          },
          { title: t.leads.brand, width: 3, cell: ({ brand }) => <Seen text={brand} /> },
          { title: t.keys.state, width: 4, cell: ({ line }) => <State line={line} /> },
          { title: t.lines.quality, width: 2, cell: ({ line }) => <Quality quality={line.quality} /> },
          { title: t.lines.limit, width: 3, cell: ({ line }) => <Maybe text={limitIn(line.messagingLimit)} /> },
        ]}
      />
    </Page>
  );
}

export function OneLine({ id }: { id: string }) {
  const found = useLoad(id, owned);
  const one = found.value?.find(({ line }) => line.providerChannelId === id);
  useWatch(one ? ahead(one.line.throttledUntil) : false, found.reload);
  return (
    <Page title={one ? <Seen text={lineName(one.line)} /> : t.lines.one} name={t.lines.one}>
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!found.value && !found.problem && <Bones lines={14} />}
      {found.value && !one && <div class="empty">{t.lines.gone}</div>}
      {one && <About {...one} />}
    </Page>
  );
}

function About({ line, brand }: Owned) {
  const { account } = line;
  const faults = faultsOf(line);
  return (
    <>
      {faults.length > 0 && (
        <div class="notice">
          <ul>
            {faults.map(({ key, says }) => (
              <li key={key}>
                {t.lines.this} {says}
              </li>
            ))}
          </ul>
        </div>
      )}
      <Facts
        facts={[
          [t.keys.state, <State line={line} />],
          [t.lines.quality, <Quality quality={line.quality} />],
          [t.lines.limit, <Maybe text={limitIn(line.messagingLimit)} />],
          [t.lines.verifiedName, <Maybe text={line.verifiedName} />],
          [t.lines.nameStatus, <Maybe text={line.nameStatus && word(line.nameStatus)} />],
          [t.leads.brand, <Seen text={brand} />],
          [t.lines.isDefault, line.isDefault ? t.parts.yes : t.parts.no],
          [t.parts.id, <code>{line.providerChannelId}</code>],
          [t.parts.created, <Time at={line.createdAt} />],
        ]}
      />
      <Notice notice={line.notice} />
      <h2>{t.lines.account}</h2>
      <Facts
        facts={[
          [t.keys.state, <Badge state={account.status} words={word(account.status)} />],
          [t.lines.review, <Maybe text={account.reviewStatus && word(account.reviewStatus)} />],
          [t.lines.limit, <Maybe text={limitIn(account.messagingLimit)} />],
          [t.parts.id, <code>{account.businessAccountId}</code>],
          [t.lines.syncedAt, <Time at={account.syncedAt} />],
        ]}
      />
      <Notice notice={account.notice} />
    </>
  );
}

/** What WhatsApp reported last, in its own words. */
function Notice({ notice }: { notice: Line['notice'] }) {
  if (!notice) return null;
  return (
    <details class="more">
      <summary>
        {t.lines.notice}: <code>{notice.event}</code> <Time at={notice.at} />
      </summary>
      <Long text={JSON.stringify(notice.raw, null, 2)} label={t.lines.notice} />
    </details>
  );
}
