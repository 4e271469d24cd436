import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  type AccountKey,
  listKeys,
  ROTATION_MS,
  resetKey,
  revokeKeys,
} from '../../../accounts/account-keys.ts';
import { createFirstKey, isKeyDue } from '../../../accounts/first-key.ts';
import { type KeyUnits, unitsByKey } from '../../../billing/key-units.ts';
import { SoukError } from '../../../platform/errors.ts';
import { PostButton } from '../../kit/form.tsx';
import { readForm } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Time } from '../../kit/words.tsx';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { FirstKey, KeyShown, ShowFirstKey } from '../key-shown.tsx';
import { testKeysCard } from '../test-mode.tsx';
import { registerKeyPages } from './key-page.tsx';
import { KEYS_PATH, KeyTable } from './key-table.tsx';

const revocation = z.object({ id: z.string().regex(/^\d{1,18}$/) });

/** Registers the page that lists, creates, resets and revokes the account's API keys. */
export function registerKeys(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get(KEYS_PATH, async (_request, reply) => sendKeys(reply, null));
  scope.post(`${KEYS_PATH}/first`, createFirst);
  scope.post(`${KEYS_PATH}/reset`, reset);
  scope.post(`${KEYS_PATH}/revoke`, revoke);
  registerKeyPages(scope, pages);

  async function createFirst(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const key = await createFirstKey(database, customerOf(request).accountId, clock.now());
    if (key === null) return reply.redirect(KEYS_PATH, 303);
    return sendKeys(reply, <FirstKey apiKey={key} baseUrl={baseUrlOf(pages, request)} />);
  }

  async function reset(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { accountId } = customerOf(request);
    if ((await listKeys(database, accountId, clock.now())).length === 0)
      throw new SoukError('NOT_FOUND', {
        message: 'This account has no key yet. Its first key is created with the first purchase.',
      });
    const { key, olderKeysUntil } = await resetKey(database, accountId, clock.now());
    return sendKeys(reply, <NewKey apiKey={key} olderKeysUntil={olderKeysUntil} />);
  }

  async function revoke(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const form = readForm(revocation, request.body);
    const revoked = form.ok
      ? await revokeKeys(database, customerOf(request).accountId, form.input.id, clock.now())
      : [];
    if (revoked.length === 0) throw new SoukError('NOT_FOUND', { message: 'This account has no such key.' });
    return reply.redirect(KEYS_PATH, 303);
  }

  /** @param shown a new key, which is shown only once. */
  async function sendKeys(reply: FastifyReply, shown: VNode | null): Promise<FastifyReply> {
    const { accountId } = customerOf(reply.request);
    const [keys, isDue, used, testKeys] = await Promise.all([
      listKeys(database, accountId, clock.now()),
      isKeyDue(database, accountId),
      unitsByKey(database, accountId, clock.now()),
      testKeysCard(pages, reply.request),
    ]);
    return sendPage(
      reply,
      <Page title="Keys" path={KEYS_PATH}>
        <h1>API keys</h1>
        <p class="lead">
          Send your key in the <code>X-API-Key</code> header of each request. Keep it secret: anyone who has
          it can spend your units.
        </p>
        {shown}
        {keys.length === 0 ? <NoKey isDue={isDue} /> : <Keys keys={keys} used={used} />}
        {testKeys}
      </Page>,
    );
  }
}

function NewKey({ apiKey, olderKeysUntil }: { apiKey: string; olderKeysUntil: Date | string | null }): VNode {
  return (
    <section class="notice good">
      <h2>Your new API key</h2>
      <KeyShown apiKey={apiKey} />
      <p>
        The new key works immediately. Your previous keys work until <Time at={olderKeysUntil} />, so that you
        can update your programs.
      </p>
    </section>
  );
}

function NoKey({ isDue }: { isDue: boolean }): VNode {
  if (isDue)
    return (
      <section class="card">
        <h2>Your key is ready</h2>
        <ShowFirstKey />
      </section>
    );
  return (
    <div class="card empty">
      <p>You receive a key with your first purchase. The trial is free.</p>
      <a class="button primary" href="/account/plans">
        Choose a plan
      </a>
    </div>
  );
}

function Keys(props: { keys: readonly AccountKey[]; used: ReadonlyMap<number, KeyUnits> }): VNode {
  const { keys, used } = props;
  return (
    <>
      <KeyTable keys={keys} used={used} />
      <p>
        <a class="button" href={`${KEYS_PATH}/new`}>
          New key
        </a>
      </p>
      <section class="card">
        <h2>Reset your keys</h2>
        <p>
          Creates a new key without limits, which works immediately. All other keys work for another{' '}
          {ROTATION_MS / 60_000} minutes.
        </p>
        <PostButton
          action={`${KEYS_PATH}/reset`}
          confirm="Create a new key? All other keys stop working in 30 minutes."
        >
          {' '}
          Reset key{' '}
        </PostButton>
      </section>
    </>
  );
}
