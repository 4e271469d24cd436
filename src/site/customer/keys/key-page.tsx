import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { type AccountKey, addKey, changeKey, findKey, listKeys } from '../../../accounts/account-keys.ts';
import { WITHOUT_LIMITS } from '../../../accounts/key-settings.ts';
import { type KeyUnits, unitsByKey } from '../../../billing/key-units.ts';
import { SoukError } from '../../../platform/errors.ts';
import { Facts } from '../../kit/facts.tsx';
import { type FormState, NO_INPUT } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { ToneTag } from '../../kit/tag.tsx';
import { Time } from '../../kit/words.tsx';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { KeyShown } from '../key-shown.tsx';
import { EMPTY_KEY_FORM, KeyForm, readKeyForm, valuesOfKey } from './key-form.tsx';
import { KEY_STATES, KEYS_PATH, Revoke } from './key-table.tsx';

const NEW_PATH = `${KEYS_PATH}/new`;

/** Registers the pages that create a key with a name and limits, and that show and change one. */
export function registerKeyPages(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get(NEW_PATH, async (_request, reply) => sendNew(reply, EMPTY_KEY_FORM));
  scope.post(NEW_PATH, create);
  scope.get(`${KEYS_PATH}/:id`, async (request, reply) => sendKey(reply, await keyOf(request), null));
  scope.post(`${KEYS_PATH}/:id`, change);

  async function create(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { accountId } = customerOf(request);
    const now = clock.now();
    if ((await listKeys(database, accountId, now)).length === 0) throw withoutKey();
    const form = readKeyForm(WITHOUT_LIMITS, request.body, now);
    if (!form.ok) return sendNew(reply, form, 400);
    const { key, id } = await addKey(database, accountId, { settings: form.input, createdBy: null, now });
    return sendKey(reply, await findKey(database, accountId, id, now), null, { shown: key });
  }

  async function change(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const key = await keyOf(request);
    const now = clock.now();
    const form = readKeyForm(key, request.body, now);
    if (!form.ok) return sendKey(reply, key, form, { status: 400 });
    try {
      await changeKey(database, customerOf(request).accountId, key.id, now, () => form.input);
    } catch (error) {
      if (!(error instanceof SoukError) || error.kind !== 'VALIDATION_FAILED') throw error;
      return sendKey(reply, key, { values: form.values, faults: { '': error.message } }, { status: 400 });
    }
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
    { shown = null, status }: { shown?: string | null; status?: number } = {},
  ): Promise<FastifyReply> {
    const { accountId } = customerOf(reply.request);
    const used = (await unitsByKey(database, accountId, clock.now())).get(key.id) ?? { day: 0, month: 0 };
    const isChanged = (reply.request.query as { changed?: string }).changed === '1';
    return sendPage(reply, <KeyPage {...{ apiKey: key, used, form, shown, isChanged }} />, status);
  }

  function sendNew(reply: FastifyReply, form: FormState = NO_INPUT, status?: number): FastifyReply {
    return sendPage(
      reply,
      <Page title="New key" path={KEYS_PATH}>
        <h1>New API key</h1>
        <section class="card">
          <KeyForm action={NEW_PATH} form={form} button="Create key" />
        </section>
      </Page>,
      status,
    );
  }
}

function KeyPage(props: {
  apiKey: AccountKey;
  used: KeyUnits;
  form: FormState | null;
  shown: string | null;
  isChanged: boolean;
}): VNode {
  const { apiKey, used, form, shown, isChanged } = props;
  const { id, name, prefix, state, capDay, capMonth, createdAt, lastUsedAt } = apiKey;
  const works = state === 'active' || state === 'rotated';
  return (
    <Page title={name ?? `Key ${prefix}…`} path={KEYS_PATH}>
      <h1>{name ?? `Key ${prefix}…`}</h1>
      {shown && (
        <section class="notice good">
          <h2>Your new API key</h2>
          <KeyShown apiKey={shown} />
        </section>
      )}
      {isChanged && (
        <div class="notice good" role="status">
          <p>The key has been changed. The change applies from the next request on.</p>
        </div>
      )}
      <section class="card">
        <Facts
          facts={[
            ['Key', <code key="prefix">{prefix}…</code>],
            ['State', <ToneTag key="state" of={KEY_STATES[state]} />],
            ['Units today', ofCap(used.day, capDay)],
            ['Units this month', ofCap(used.month, capMonth)],
            ['Created', <Time key="created" at={createdAt} />],
            ['Last used', lastUsedAt ? <Time key="used" at={lastUsedAt} /> : 'never'],
          ]}
        />
        <Revoke apiKey={apiKey} />
      </section>
      {works && (
        <section class="card">
          <h2>Limits</h2>
          <KeyForm
            action={`${KEYS_PATH}/${id}`}
            form={form ?? { values: valuesOfKey(apiKey), faults: {} }}
            button="Save"
          />
        </section>
      )}
    </Page>
  );
}

export function ofCap(used: number, cap: number | null): string {
  const text = used.toLocaleString('en');
  return cap === null ? text : `${text} of ${cap.toLocaleString('en')}`;
}

function withoutKey(): SoukError {
  return new SoukError('NOT_FOUND', {
    message: 'This account has no key yet. Its first key is created with the first purchase.',
  });
}
