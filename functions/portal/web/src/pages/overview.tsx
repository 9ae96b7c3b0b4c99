// Is anything wrong, and what do I do?

import type { ComponentChildren } from 'preact';

import { client, value, workspace } from '../api';
import { useLoad } from '../load';
import type { Load, PageOf } from '../load';
import { Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { Bones } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { Usage } from '../parts/usage';
import { address } from '../router';
import { may } from '../session';
import { t } from '../words';
import { allLines, faultsOf, lineName } from './lines';
import { allEndpoints, faultOf, nameOf } from './webhooks';

const ENDPOINTS = '/service/api/v1/workspaces/{workspaceId}/webhook-endpoints';

/** Something to do: what is wrong, and where it is repaired. */
interface Finding {
  key: string;
  says: ComponentChildren;
  to: string;
  act: string;
}

const at = (page: string, id: string) => address(workspace().workspaceId, page, { id });

async function endpoints(): Promise<Finding[]> {
  const detailed = await Promise.all(
    (await allEndpoints()).map(({ id, state, ...rest }) =>
      state === 'ENABLED' ? value(client.GET(`${ENDPOINTS}/{endpointId}`, { params: { path: { ...workspace(), endpointId: id } } })) : { id, state, ...rest },
    ),
  );
  return detailed.flatMap((endpoint) => {
    const fault = faultOf(endpoint);
    if (!fault) return [];
    const since = fault === 'DISABLED' ? endpoint.disabledAt : 'health' in endpoint && fault === 'FAILING' ? endpoint.health.failingSince : null;
    const says = (
      <>
        <strong>
          <Seen text={nameOf(endpoint)} />
        </strong>{' '}
        {t.overview.endpoint[fault]} {since && <Time at={since} />}
      </>
    );
    return [{ key: endpoint.id, says, to: at('webhooks', endpoint.id), act: t.overview.repair }];
  });
}

async function templates(): Promise<Finding[]> {
  const { templates } = await value(
    client.GET('/service/api/v1/workspaces/{workspaceId}/templates', { params: { path: workspace(), query: { status: 'PAUSED', pageSize: 100 } } }),
  );
  return templates.map(({ id, name, language, statuses }) => ({
    key: id,
    says: (
      <>
        <strong>
          <Seen text={name} />
        </strong>{' '}
        ({language}) {t.overview.template(statuses.filter(({ status }) => status === 'PAUSED').length)}
      </>
    ),
    to: at('templates', id),
    act: t.overview.show,
  }));
}

const DAY = 86_400_000;
/** The greatest page of a list. */
const MOST = 100;

/** The failures of the last 24 hours as one finding, which leads to their list. */
function counted(page: string, state: string, since: string, { rows, cursor }: PageOf<unknown>, says: (count: string) => string): Finding[] {
  if (rows.length === 0) return [];
  const count = cursor ? t.overview.atLeast(rows.length) : String(rows.length);
  return [{ key: page, says: says(count), to: address(workspace().workspaceId, page, { query: { state, since } }), act: t.overview.show }];
}

async function deliveries(): Promise<Finding[]> {
  const since = new Date(Date.now() - DAY).toISOString();
  const query = { state: 'EXHAUSTED', since, pageSize: MOST } as const;
  const { deliveries, cursor } = await value(client.GET('/service/api/v1/workspaces/{workspaceId}/deliveries', { params: { path: workspace(), query } }));
  return counted('deliveries', 'EXHAUSTED', since, { rows: deliveries, cursor }, t.overview.deliveries);
}

async function leads(): Promise<Finding[]> {
  const since = new Date(Date.now() - DAY).toISOString();
  const query = { state: 'FAILED', since, pageSize: MOST } as const;
  const { leads, cursor } = await value(client.GET('/service/api/v1/workspaces/{workspaceId}/leads', { params: { path: workspace(), query } }));
  return counted('leads', 'FAILED', since, { rows: leads, cursor }, t.overview.leads);
}

async function lines(): Promise<Finding[]> {
  const all = await allLines();
  return all.flatMap((line) => {
    const faults = faultsOf(line);
    if (faults.length === 0) return [];
    const says = (
      <>
        <strong>
          <Seen text={lineName(line)} />
        </strong>
        <ul>
          {faults.map(({ key, says }) => (
            <li key={key}>{says}</li>
          ))}
        </ul>
      </>
    );
    return [{ key: line.providerChannelId, says, to: at('lines', line.providerChannelId), act: t.overview.show }];
  });
}

const lastHours = async () => (await value(client.GET('/service/api/v1/workspaces/{workspaceId}/usage', { params: { path: workspace() } }))).steps;

const CHECKS: { scope: string; name: () => string; fine: () => string; look: () => Promise<Finding[]> }[] = [
  { scope: 'webhooks:read', name: () => t.webhooks.title, fine: () => t.overview.fine.endpoints, look: endpoints },
  { scope: 'deliveries:read', name: () => t.deliveries.title, fine: () => t.overview.fine.deliveries, look: deliveries },
  { scope: 'leads:read', name: () => t.leads.title, fine: () => t.overview.fine.leads, look: leads },
  { scope: 'settings:read', name: () => t.lines.title, fine: () => t.overview.fine.lines, look: lines },
  { scope: 'templates:read', name: () => t.templates.title, fine: () => t.overview.fine.templates, look: templates },
];

export function Overview() {
  const looked = CHECKS.map((check) => ({ ...check, offered: may(check.scope) }));
  const loads = looked.map(({ look, offered }, index) => useLoad(String(index), () => (offered ? look() : Promise.resolve([]))));
  const shown = looked.map((check, index) => ({ ...check, load: loads[index] as Load<Finding[]> })).filter(({ offered }) => offered);
  const usage = useLoad('usage', () => (may('usage:read') ? lastHours() : Promise.resolve(null)));
  const waiting = shown.some(({ load }) => load.loading) || usage.loading;
  const failed = shown.some(({ load }) => load.problem);
  const found = shown.reduce((sum, { load }) => sum + (load.value?.length ?? 0), 0);
  return (
    <Page title={t.overview.title} name={t.overview.title}>
      <p class={`verdict ${waiting ? '' : found || failed ? 'bad' : 'good'}`} role="status">
        {waiting ? t.parts.loading : failed && !found ? t.overview.notKnown : found ? t.overview.todo(found) : t.overview.allFine}
      </p>
      {waiting && <Bones lines={shown.length} />}
      {!waiting &&
        shown.map(({ name, load }) => load.problem && <ProblemBox key={name()} problem={load.problem} again={load.reload} />)}
      {!waiting && (
        <ul class="plain findings">
          {shown.flatMap(({ name, load }) =>
            (load.value ?? []).map(({ key, says, to, act }) => (
              <li key={key} class="wrong">
                <div>
                  <div class="soft">{name()}</div>
                  {says}
                </div>
                <a href={to}>{act}</a>
              </li>
            )),
          )}
          {shown.map(({ name, fine, load }) => load.value?.length === 0 && <li key={name()}>{`✓ ${fine()}`}</li>)}
        </ul>
      )}
      {!waiting && usage.problem && <ProblemBox problem={usage.problem} again={usage.reload} />}
      {!waiting && usage.value && <Usage of={usage.value} />}
    </Page>
  );
}
