import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { type AccountKey, addKey, changeKey, findKey, listKeys } from '../../accounts/account-keys.ts';
import {
  type KeySettings,
  LONGEST_CONNECTION_DAYS,
  readKeySettings,
  SCOPE_TEXTS,
  SCOPES,
  textOfSettings,
  WITHOUT_LIMITS,
} from '../../accounts/key-settings.ts';
import { isAble, rolesAble } from '../../accounts/members.ts';
import { type KeyUnits, unitsByKey } from '../../billing/key-warning.ts';
import { type ParameterFault, SoukError } from '../../platform/errors.ts';
import { Card, Facts, Notice, ToneTag } from '../kit/elements.tsx';
import { Field, PostButton, PostForm, Submit, TextArea, withZone } from '../kit/form.tsx';
import { type Form, type FormState, type FormValues, readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Midnight, Time } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import type { Pages } from '../pages.ts';
import { asMember, customerOf } from '../session.ts';
import {
  ConnectionFacts,
  isConnection,
  KEY_STATES,
  KEYS_PATH,
  lastUse,
  ofCap,
  RevokeConnection,
} from './connections.tsx';
import { NewKey } from './first-key.tsx';

const NEW_PATH = `${KEYS_PATH}/new`;

/** Registers the pages that create a key with a name and limits, and that show and change one. */
export function registerKeyPages(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get(NEW_PATH, async (_request, reply) => sendNew(reply, EMPTY_KEY_FORM));
  scope.post(NEW_PATH, create);
  scope.get(`${KEYS_PATH}/:id`, async (request, reply) => sendKey(reply, await keyOf(request), null));
  scope.post(`${KEYS_PATH}/:id`, change);

  async function create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { accountId, personId } = customerOf(request);
    const now = clock.now();
    requireKey(await listKeys(database, accountId, now));
    const form = readKeyForm(WITHOUT_LIMITS, request, now);
    if (!form.ok) return sendNew(reply, form, 400);
    const about = { settings: form.input, createdBy: null, personId, now };
    const { key, id } = await asMember(pages, request, 'keys', (client) => addKey(client, accountId, about));
    noteActs(request, { action: 'key.created', target: String(id) });
    return sendKey(reply, await findKey(database, accountId, id, now), null, { shown: key });
  }

  async function change(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const key = await keyOf(request);
    requireOwnKey(request, key);
    const now = clock.now();
    const form = readKeyForm(key, request, now);
    if (!form.ok) return sendKey(reply, key, form, { status: 400 });
    try {
      await asMember(pages, request, 'keys', (client) =>
        changeKey(client, customerOf(request).accountId, key.id, now, () => form.input),
      );
    } catch (error) {
      if (!(error instanceof SoukError) || error.kind !== 'VALIDATION_FAILED') throw error;
      return sendKey(reply, key, { values: form.values, faults: faultsOf(error) }, { status: 400 });
    }
    if (key.connection) noteActs(request, { action: 'connection.changed', target: String(key.id) });
    return reply.redirect(`${KEYS_PATH}/${key.id}?changed=1`, 303);
  }

  async function keyOf(request: FastifyRequest): Promise<AccountKey> {
    const { id } = request.params as { id: string };
    if (!/^[1-9]\d{0,14}$/.test(id)) throw new SoukError('KEY_NOT_FOUND');
    return findKey(database, customerOf(request).accountId, Number(id), clock.now());
  }

  async function sendKey(
    reply: FastifyReply,
    key: AccountKey,
    form: FormState | null,
    { shown, status }: { shown?: string; status?: number } = {},
  ): Promise<FastifyReply> {
    const { accountId } = customerOf(reply.request);
    const used = (await unitsByKey(database, accountId, clock.now())).get(key.id) ?? { day: 0, month: 0 };
    const isChanged = (reply.request.query as { changed?: string }).changed === '1';
    const mayChange = mayChangeKey(reply.request, key);
    const { id, name, prefix, state } = key;
    const clientName = key.connection?.clientName;
    return sendPage(
      reply,
      <Page title={clientName ?? name ?? `Key ${prefix}…`} path={KEYS_PATH} back={[KEYS_PATH, 'All keys']}>
        {shown && <NewKey title="Your new API key" apiKey={shown} />}
        {isChanged && (
          <Notice tone="good" role="status">
            The {clientName ? 'connection' : 'key'} has been changed. The change applies from the next request
            on.
          </Notice>
        )}
        <Card>
          {isConnection(key) ? (
            <ConnectionFacts connection={key} used={used} />
          ) : (
            <KeyFacts apiKey={key} used={used} />
          )}
          {mayChange && <Revoke apiKey={key} />}
        </Card>
        {(state === 'active' || state === 'rotated') && mayChange && (
          <Card title="Limits">
            <KeyForm
              action={`${KEYS_PATH}/${id}`}
              form={form ?? { values: valuesOfKey(key), faults: {} }}
              button="Save"
              isConnection={isConnection(key)}
            />
          </Card>
        )}
      </Page>,
      status,
    );
  }

  function sendNew(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
    return sendPage(
      reply,
      <Page title="New key" heading="New API key" path={KEYS_PATH}>
        <Card>
          <KeyForm action={NEW_PATH} form={form} button="Create key" />
        </Card>
      </Page>,
      status,
    );
  }
}

/** @throws SoukError NOT_FOUND if an account has no key besides those of connections. */
export function requireKey(keys: readonly AccountKey[]): void {
  if (keys.every(isConnection))
    throw new SoukError('NOT_FOUND', {
      message: 'This account has no key yet. Its first key is created with the first purchase.',
    });
}

/** Returns the faults of a refused change by field. */
function faultsOf({ message, metadata }: SoukError): FormState['faults'] {
  const { errors } = metadata as { errors?: ParameterFault[] };
  return errors ? Object.fromEntries(errors.map((one) => [one.parameter, one.problem])) : { '': message };
}

function KeyFacts({ apiKey, used }: { apiKey: AccountKey; used: KeyUnits }): VNode {
  const { prefix, state, capDay, capMonth, createdAt, lastUsedAt } = apiKey;
  return (
    <Facts
      facts={[
        ['Key', <code key="prefix">{prefix}…</code>],
        ['State', <ToneTag key="state" of={KEY_STATES[state]} />],
        ['Units today', ofCap(used.day, capDay)],
        ['Units this month', ofCap(used.month, capMonth)],
        ['Created', <Time key="created" at={createdAt} />],
        ['Created by', creatorOf(apiKey)],
        ['Last used', lastUsedAt ? <Time key="used" at={lastUsedAt} /> : 'never'],
      ]}
    />
  );
}

const fieldOf = (scope: string) => `scope_${scope}`;

/** Reads the form of a key. Without a chosen scope, a key may make every call, and a connection reads. */
function readKeyForm(
  present: KeySettings & Partial<Pick<AccountKey, 'connection'>>,
  request: FastifyRequest,
  now: number,
): Form<KeySettings> {
  const values = readValues(request.body);
  if (present.connection) values[fieldOf('read')] = '1';
  const scopes = SCOPES.filter((scope) => values[fieldOf(scope)] === '1').join(' ');
  const { name = '', capDay = '', capMonth = '', networks = '' } = values;
  const expiresAt = withZone(values.expiresAt) ?? '';
  const read = readKeySettings(present, { name, scopes, capDay, capMonth, expiresAt, networks }, now);
  if (!('settings' in read)) return { ok: false, values, faults: read.faults as Record<string, string> };
  if (read.settings.scopes?.includes('keys') && !isAble(customerOf(request).role, 'people'))
    return { ok: false, values, faults: { scopes: `keys: can be given only by ${rolesAble('people')}` } };
  return { ok: true, input: read.settings, values, faults: {} };
}

/** Returns the values of the form of a key. */
function valuesOfKey(settings: KeySettings): FormValues {
  const { scopes: _, ...texts } = textOfSettings(settings);
  return { ...texts, ...Object.fromEntries((settings.scopes ?? []).map((scope) => [fieldOf(scope), '1'])) };
}

/** The form of a new key, or of a key or connection that is changed. */
function KeyForm(props: { action: string; form: FormState; button: string; isConnection?: boolean }): VNode {
  const { action, form, button, isConnection: ofConnection = false } = props;
  const none = (text: string) => (ofConnection ? '' : ` Empty: ${text}`);
  return (
    <PostForm action={action} form={form}>
      <Field name="name" label="Name" maxLength={60} hint="For lists, such as “Dashboard”" />
      <ScopeBoxes form={form} ofConnection={ofConnection} />
      <Field
        name="capDay"
        label="Units a day"
        hint={
          <>
            Resets at <Midnight />.{none('no cap')}
          </>
        }
      />
      <Field
        name="capMonth"
        label="Units a month"
        hint={
          <>
            Resets on the first, at <Midnight />.{none('no cap')}
          </>
        }
      />
      <Field
        name="expiresAt"
        label="Expires at (UTC)"
        type="datetime-local"
        hint={
          ofConnection
            ? `At most ${LONGEST_CONNECTION_DAYS} days after the program was connected`
            : none('never').trim()
        }
      />
      <TextArea
        name="networks"
        label="Networks"
        rows={3}
        placeholder="203.0.113.0/24"
        hint="Addresses or networks from which the key may be used, at most 50. Empty: any"
      />
      <Submit>{button}</Submit>
    </PostForm>
  );
}

function ScopeBoxes({ form, ofConnection }: { form: FormState; ofConnection: boolean }): VNode {
  const scopes = ofConnection ? SCOPES.filter((scope) => scope !== 'keys') : SCOPES;
  return (
    <fieldset>
      <legend>Scopes</legend>
      {!ofConnection && (
        <p class="hint">If you choose no scope, the key may do everything except manage keys.</p>
      )}
      {scopes.map((scope) => (
        <label key={scope} class="check">
          <input
            type="checkbox"
            name={fieldOf(scope)}
            value="1"
            checked={form.values[fieldOf(scope)] === '1'}
            disabled={ofConnection && scope === 'read'}
          />
          <span>
            <code>{scope}</code> {SCOPE_TEXTS[scope]}
          </span>
        </label>
      ))}
      {form.faults.scopes && <p class="fault">{form.faults.scopes}</p>}
    </fieldset>
  );
}

const EMPTY_KEY_FORM: FormState = { values: valuesOfKey(WITHOUT_LIMITS), faults: {} };

/** Who created a key. */
function creatorOf({ createdByPerson, createdBy }: AccountKey): string {
  return createdByPerson?.email ?? (createdBy === null ? 'operator' : `key ${createdBy}`);
}

/** Whether the person may change a key: owners and admins all of them, developers those that they have created. */
export function mayChangeKey(request: FastifyRequest, { createdByPerson }: AccountKey): boolean {
  const { role, personId, isStaff } = customerOf(request);
  if (isStaff || !isAble(role, 'keys')) return false;
  return isAble(role, 'people') || createdByPerson?.id === personId;
}

/** @throws SoukError KEY_FORBIDDEN if the person may only change own keys, and has not created this one. */
export function requireOwnKey(request: FastifyRequest, key: AccountKey): void {
  if (mayChangeKey(request, key)) return;
  throw new SoukError('KEY_FORBIDDEN', {
    message: `Your role in this account is ${customerOf(request).role}, so you can change only the keys that you created.`,
  });
}

export function KeyTable(props: {
  keys: readonly AccountKey[];
  used: ReadonlyMap<number, KeyUnits>;
  mayChange: (key: AccountKey) => boolean;
}): VNode {
  const { keys, used, mayChange } = props;
  return (
    <Table
      name="API keys"
      rows={keys.toReversed()}
      columns={[
        [
          'Key',
          ({ id, name, prefix }) => (
            <a href={`${KEYS_PATH}/${id}`}>
              {name && `${name} `}
              <code class="id">{prefix}…</code>
            </a>
          ),
        ],
        ['State', ({ state }) => <ToneTag of={KEY_STATES[state]} />],
        ['Scopes', ({ scopes }) => scopes?.join(', ') ?? 'all'],
        ['Units this month', ({ id }) => (used.get(id)?.month ?? 0).toLocaleString('en'), 'number'],
        ['Created', ({ createdAt }) => <Time at={createdAt} />],
        ['Created by', (key) => creatorOf(key)],
        ['Last used', ({ lastUsedAt }) => lastUse(lastUsedAt)],
        ['Valid until', ({ revokedAt, expiresAt }) => lastTime(revokedAt ?? expiresAt)],
        ['Action', (key) => mayChange(key) && <Revoke apiKey={key} />],
      ]}
    />
  );
}

function lastTime(at: Date | null): VNode | string {
  return at ? <Time at={at} /> : 'no end date';
}

/** The button that revokes a key; none for a key that does not work. */
function Revoke({ apiKey }: { apiKey: AccountKey }): VNode | null {
  if (isConnection(apiKey)) return <RevokeConnection connection={apiKey} />;
  const { id, prefix, state } = apiKey;
  if (state !== 'active' && state !== 'rotated') return null;
  return (
    <PostButton
      action={`${KEYS_PATH}/revoke`}
      fields={{ id: String(id) }}
      confirm={`Revoke ${prefix}…? Requests with this key are refused immediately.`}
      class="small danger"
    >
      Revoke
    </PostButton>
  );
}
