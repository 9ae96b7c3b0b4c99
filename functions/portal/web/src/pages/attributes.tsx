// What the workspace keeps of a contact besides name, phone and e-mail.

import { useState } from 'preact/hooks';

import { answer, client, value, workspace } from '../api';
import type { Schemas } from '../api';
import { rowsOf, useAction, useLoad, useRows } from '../load';
import { Confirm, Dialog } from '../parts/dialog';
import { Check, Choice, Form, LinesField, TextField, linesOf } from '../parts/field';
import { FilterBar, useFilters } from '../parts/filters';
import { Badge, Page } from '../parts/page';
import { ProblemBox } from '../parts/problem';
import { LookAgain, Stale } from '../parts/stale';
import { Bones, Facts, Table } from '../parts/table';
import { Seen } from '../parts/text';
import { Time } from '../parts/time';
import { address, go } from '../router';
import { may } from '../session';
import { t, word } from '../words';

const ATTRIBUTES = '/service/api/v1/workspaces/{workspaceId}/settings/attributes';
const ATTRIBUTE = '/service/api/v1/workspaces/{workspaceId}/settings/attributes/{attributeId}';
const VALUES = `${ATTRIBUTE}/values` as const;
const VALUE = `${ATTRIBUTE}/values/{valueId}` as const;

type Attribute = Schemas['CustomAttribute'];
type Value = Attribute['closedAttributesValues'][number];
interface Read {
  value: Attribute;
  etag: string | null;
  status: number;
}

const CATEGORIES: Schemas['AttributeCategory'][] = ['OPEN', 'CLOSED'];
const TYPES: Schemas['AttributeType'][] = ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE'];
const to = (id: string) => address(workspace().workspaceId, 'attributes', { id });
const pathOf = (attributeId: string) => ({ ...workspace(), attributeId });
const tagged = (etag: string | null) => (etag ? { 'If-Match': etag } : {});

export function Attributes() {
  const filters = useFilters(['archived']);
  const list = useRows<Attribute>(filters.key, async () => {
    const query = { includeArchived: filters.get('archived') === 'yes' };
    const { customAttributes } = await value(client.GET(ATTRIBUTES, { params: { path: workspace(), query } }));
    return { rows: customAttributes, cursor: null };
  });
  const [creating, setCreating] = useState(false);
  return (
    <Page
      title={t.attributes.title}
      name={t.attributes.title}
      intro={t.attributes.intro}
      actions={
        may('settings:write') && (
          <button type="button" class="main" onClick={() => setCreating(true)}>
            {t.attributes.create}
          </button>
        )
      }
    >
      <FilterBar filters={filters}>
        <Choice
          label={t.attributes.archived}
          name="archived"
          value={filters.get('archived')}
          set={(value) => filters.set('archived', value)}
          choices={[
            ['', t.attributes.activeOnly],
            ['yes', t.attributes.archivedToo],
          ]}
        />
      </FilterBar>
      <Table
        label={t.attributes.title}
        list={list}
        id={({ id }) => id}
        empty={<p>{t.attributes.empty}</p>}
        columns={[
          {
            title: t.attributes.key,
            width: 4,
            cell: ({ id, keyName }) => (
              <a href={to(id)}>
                <Seen text={keyName} />
              </a>
            ),
          },
          { title: t.attributes.category, width: 2, cell: ({ category }) => t.attributes.categories[category] },
          { title: t.attributes.type, width: 2, cell: ({ type }) => word(type) },
          { title: t.attributes.required, width: 2, cell: ({ isRequired }) => (isRequired ? t.parts.yes : t.parts.no) },
          {
            title: t.attributes.values,
            width: 5,
            cell: ({ closedAttributesValues, deletedAt }) => (
              <>
                {deletedAt && <span class="soft">({t.attributes.isArchived}) </span>}
                <Seen text={closedAttributesValues.map(({ value }) => value).join(', ')} />
              </>
            ),
          },
        ]}
      />
      {creating && <Create close={() => setCreating(false)} />}
    </Page>
  );
}

function Create({ close }: { close: () => void }) {
  const [keyName, setKeyName] = useState('');
  const [category, setCategory] = useState('OPEN');
  const [type, setType] = useState('TEXT');
  const [isRequired, setRequired] = useState(false);
  const [values, setValues] = useState('');
  const [token] = useState(() => crypto.randomUUID());
  const action = useAction();
  const { problem } = action;
  const create = () =>
    action.run(async () => {
      const body: Schemas['CustomAttributeCreate'] = {
        keyName,
        category: category as Attribute['category'],
        type: type as Attribute['type'],
        isRequired,
        ...(category === 'CLOSED' && { values: linesOf(values) }),
      };
      const { id } = await value(client.POST(ATTRIBUTES, { params: { path: workspace(), header: { 'Idempotency-Key': token } }, body }));
      go(to(id));
    });
  return (
    <Dialog title={t.attributes.create} close={close}>
      <Form submit={create} act={t.attributes.create} busy={action.busy} cancel={close}>
        {problem && <ProblemBox problem={problem} fields={['keyName', 'category', 'type', 'values']} />}
        <TextField label={t.attributes.key} name="keyName" hint={t.attributes.keyHint} value={keyName} set={setKeyName} problem={problem} required max={100} />
        <Choice label={t.attributes.category} name="category" hint={t.attributes.never} value={category} set={setCategory} problem={problem} choices={CATEGORIES.map((one) => [one, t.attributes.categories[one]])} />
        <Choice label={t.attributes.type} name="type" hint={t.attributes.never} value={type} set={setType} problem={problem} choices={TYPES.map((one) => [one, word(one)])} />
        {category === 'CLOSED' && <LinesField label={t.attributes.values} name="values" value={values} set={setValues} problem={problem} required />}
        <Check label={t.attributes.isRequired} value={isRequired} set={setRequired} />
      </Form>
    </Dialog>
  );
}

type Open = 'edit' | 'archive' | 'add' | Value;

export function OneAttribute({ id }: { id: string }) {
  const found = useLoad(id, (): Promise<Read> => answer(client.GET(ATTRIBUTE, { params: { path: pathOf(id) } })));
  const [open, setOpen] = useState<Open | null>(null);
  const close = () => setOpen(null);
  const one = found.value?.value;
  const writes = may('settings:write');
  const turn = async () => {
    const header = tagged(found.value?.etag ?? null);
    found.set(await answer(client.PATCH(ATTRIBUTE, { params: { path: pathOf(id), header }, body: { archived: one?.deletedAt === null } })));
  };
  const act = one?.deletedAt ? t.attributes.restore : t.attributes.archive;
  return (
    <Page
      title={one ? <Seen text={one.keyName} /> : t.attributes.one}
      name={t.attributes.one}
      actions={
        one &&
        writes && (
          <>
            <button type="button" onClick={() => setOpen('edit')}>
              {t.webhooks.edit}
            </button>
            <button type="button" onClick={() => setOpen('archive')}>
              {act}
            </button>
          </>
        )
      }
    >
      {found.problem && <ProblemBox problem={found.problem} again={found.reload} />}
      {!one && !found.problem && <Bones lines={6} />}
      {one && (
        <Facts
          facts={[
            [t.keys.state, <Badge state={one.deletedAt ? 'disabled' : 'active'} words={one.deletedAt ? t.attributes.isArchived : word('active')} />],
            ...(one.deletedAt ? [[t.attributes.isArchived, <Time at={one.deletedAt} />] as [string, preact.ComponentChildren]] : []),
            [t.attributes.category, t.attributes.categories[one.category]],
            [t.attributes.type, word(one.type)],
            [t.attributes.required, one.isRequired ? t.parts.yes : t.parts.no],
            [t.parts.id, <code>{one.id}</code>],
          ]}
        />
      )}
      {one?.category === 'CLOSED' && (
        <>
          <div class="head sub">
            <h2>{t.attributes.values}</h2>
            {writes && (
              <span class="buttons">
                <button type="button" class="main" onClick={() => setOpen('add')}>
                  {t.attributes.addValue}
                </button>
              </span>
            )}
          </div>
          <Table
            label={t.attributes.values}
            list={rowsOf(found, [...one.closedAttributesValues])}
            id={({ id }) => id}
            empty={null}
            columns={[
              { title: t.attributes.value, width: 6, cell: ({ value }) => <Seen text={value} /> },
              {
                title: '',
                width: 2,
                cell: (of) =>
                  writes && (
                    <button type="button" onClick={() => setOpen(of)} aria-label={`${t.keys.rename}: ${of.value}`}>
                      {t.keys.rename}
                    </button>
                  ),
              },
            ]}
          />
        </>
      )}
      {open === 'edit' && found.value && <Edit read={found.value} close={close} reload={found.reload} saved={found.set} />}
      {open === 'archive' && one && (
        <Confirm
          title={`${act}: ${one.keyName}`}
          effect={<p>{one.deletedAt ? t.attributes.restoreEffect : t.attributes.archiveEffect}</p>}
          act={act}
          dangerous={!one.deletedAt}
          run={turn}
          close={close}
          stale={() => <LookAgain close={close} reload={found.reload} />}
        />
      )}
      {open !== null && open !== 'edit' && open !== 'archive' && found.value && (
        <OneValue read={found.value} of={open === 'add' ? null : open} close={close} reload={found.reload} saved={found.set} />
      )}
    </Page>
  );
}

interface Change {
  read: Read;
  close: () => void;
  reload: () => void;
  saved: (read: Read) => void;
}

/** Sends only what the person changed. */
function Edit({ read, close, reload, saved }: Change) {
  const [first] = useState(read.value);
  const [keyName, setKeyName] = useState(first.keyName);
  const [isRequired, setRequired] = useState(first.isRequired);
  const action = useAction();
  const save = () =>
    action.run(async () => {
      const body = { ...(keyName !== first.keyName && { keyName }), ...(isRequired !== first.isRequired && { isRequired }) };
      saved(await answer(client.PATCH(ATTRIBUTE, { params: { path: pathOf(first.id), header: tagged(read.etag) }, body })));
      close();
    });
  const shown = (name: string, required: boolean) => `${name} · ${t.attributes.required}: ${required ? t.parts.yes : t.parts.no}`;
  return (
    <Dialog title={t.attributes.edit} close={close}>
      <Form submit={save} act={t.webhooks.save} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={shown(read.value.keyName, read.value.isRequired)} mine={shown(keyName, isRequired)} load={reload} fields={['keyName']} />
        <TextField label={t.attributes.key} name="keyName" hint={t.attributes.keyHint} value={keyName} set={setKeyName} problem={action.problem} required max={100} />
        <Check label={t.attributes.isRequired} value={isRequired} set={setRequired} />
      </Form>
    </Dialog>
  );
}

/** A new value, or another name for one. Contacts that have it show the new name. */
function OneValue({ read, of, close, reload, saved }: Change & { of: Value | null }) {
  const [text, setText] = useState(of?.value ?? '');
  const action = useAction();
  const act = of ? t.keys.rename : t.attributes.addValue;
  const save = () =>
    action.run(async () => {
      const [path, header, body] = [pathOf(read.value.id), tagged(read.etag), { value: text }];
      saved(
        await (of
          ? answer(client.PATCH(VALUE, { params: { path: { ...path, valueId: of.id }, header }, body }))
          : answer(client.POST(VALUES, { params: { path, header }, body }))),
      );
      close();
    });
  const theirs = of ? (read.value.closedAttributesValues.find(({ id }) => id === of.id)?.value ?? '') : read.value.closedAttributesValues.map(({ value }) => value).join(', ');
  return (
    <Dialog title={act} close={close}>
      <Form submit={save} act={act} busy={action.busy} cancel={close}>
        <Stale action={action} theirs={theirs} mine={text} load={reload} fields={['value']} />
        <TextField label={t.attributes.value} name="value" {...(of && { hint: t.attributes.valueHint })} value={text} set={setText} problem={action.problem} required max={100} />
      </Form>
    </Dialog>
  );
}
