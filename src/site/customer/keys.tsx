import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { addressFor } from '../../accounts/account-address.ts';
import {
  type AccountKey,
  createFirstKey,
  findKey,
  isKeyDue,
  listKeys,
  ROTATION_MS,
  resetKey,
  revokeKeys,
} from '../../accounts/account-keys.ts';
import { hasTestAccount, isTestAccount, keyPrefix, testAccountOf } from '../../accounts/authentication.ts';
import { isAble, rolesAble } from '../../accounts/members.ts';
import { unitsByKey } from '../../billing/key-warning.ts';
import { createTestKey, openTestAccount } from '../../billing/test-wallet.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card, PrimaryLink } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { readForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { accountPath } from '../kit/viewer.ts';
import { count, Time } from '../kit/words.tsx';
import { noteActs } from '../page-acts.ts';
import { baseUrlOf, type Pages } from '../pages.ts';
import { asMember, customerOf, enter } from '../session.ts';
import { Connections, isConnection, KEYS_PATH } from './connections.tsx';
import { FirstCall, FirstKey, firstKeyActs, NewKey, ShowFirstKey } from './first-key.tsx';
import { KeyTable, mayChangeKey, registerKeyPages, requireKey, requireOwnKey } from './key-page.tsx';

const revocation = z.object({ id: z.string().regex(/^\d{1,18}$/) });

/** Registers the page that lists, creates, resets and revokes the account's API keys. */
export function registerKeys(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;

  scope.get(KEYS_PATH, async (_request, reply) => sendKeys(reply, null));
  scope.post(`${KEYS_PATH}/first`, async (request, reply) => {
    const { accountId, personId } = customerOf(request);
    const key = await asMember(pages, request, 'keys', (client) =>
      createFirstKey(client, accountId, clock.now(), personId),
    );
    noteActs(request, ...firstKeyActs(key));
    if (key === null) return reply.redirect(KEYS_PATH, 303);
    return sendKeys(reply, <FirstKey apiKey={key} baseUrl={baseUrlOf(pages, request)} />);
  });
  scope.post(`${KEYS_PATH}/reset`, async (request, reply) => {
    const { accountId, personId, role } = customerOf(request);
    if (!isAble(role, 'people'))
      throw new SoukError('KEY_FORBIDDEN', {
        message: `A reset ends the keys of all members, so it requires ${rolesAble('people')}.`,
      });
    requireKey(await listKeys(database, accountId, clock.now()));
    const { key, olderKeysUntil } = await asMember(pages, request, 'people', (client) =>
      resetKey(client, accountId, clock.now(), personId),
    );
    noteActs(request, { action: 'key.reset', target: keyPrefix(key) });
    return sendKeys(
      reply,
      <NewKey title="Your new API key" apiKey={key}>
        <p>
          The new key works immediately. Your previous keys work until <Time at={olderKeysUntil} />, so that
          you can update your programs.
        </p>
      </NewKey>,
    );
  });
  scope.post(`${KEYS_PATH}/revoke`, async (request, reply) => {
    const form = readForm(revocation, request.body);
    const { accountId } = customerOf(request);
    const id = form.ok ? Number(form.input.id) : 0;
    const key = await findKey(database, accountId, id, clock.now());
    requireOwnKey(request, key);
    await revokeKeys(database, accountId, String(id), clock.now());
    noteActs(request, { action: key.connection ? 'connection.revoked' : 'key.revoked', target: String(id) });
    return reply.redirect(KEYS_PATH, 303);
  });
  registerKeyPages(scope, pages);

  /** @param shown a new key, which is shown only once. */
  async function sendKeys(reply: FastifyReply, shown: VNode | null): Promise<FastifyReply> {
    const { accountId, role, isStaff } = customerOf(reply.request);
    const [all, isDue, used, testKeys] = await Promise.all([
      listKeys(database, accountId, clock.now()),
      isKeyDue(database, accountId),
      unitsByKey(database, accountId, clock.now()),
      testKeysCard(pages, reply.request),
    ]);
    const keys = all.filter((key) => !isConnection(key));
    const mayChange = (key: AccountKey) => mayChangeKey(reply.request, key);
    return sendPage(
      reply,
      <Page title="Keys" heading="API keys" path={KEYS_PATH}>
        <p class="lead">
          Send your key in the <code>X-API-Key</code> header of each request. Keep it secret: anyone who has
          it can spend your units.
        </p>
        {shown}
        {keys.length === 0 && <NoKey isDue={isDue} />}
        {keys.length > 0 && <KeyTable keys={keys} used={used} mayChange={mayChange} />}
        {keys.length > 0 && !isStaff && isAble(role, 'keys') && (
          <p>
            <ButtonLink to={`${KEYS_PATH}/new`}>New key</ButtonLink>
          </p>
        )}
        {keys.length > 0 && !isStaff && isAble(role, 'people') && <Reset />}
        <Connections connections={all.filter(isConnection)} used={used} mayChange={mayChange} />
        {testKeys}
      </Page>,
    );
  }
}

function NoKey({ isDue }: { isDue: boolean }): VNode {
  if (isDue)
    return (
      <Card title="Your key is ready">
        <ShowFirstKey />
      </Card>
    );
  return (
    <div class="card empty">
      <p>You receive a key with your first purchase. The trial is free.</p>
      <PrimaryLink to="/account/plans">Choose a plan</PrimaryLink>
    </div>
  );
}

function Reset(): VNode {
  return (
    <Card title="Reset your keys">
      <p>
        Creates a new key without limits, which works immediately. All other keys work for another{' '}
        {ROTATION_MS / 60_000} minutes. Connections are not affected: revoke each of them separately.
      </p>
      <PostButton
        action={`${KEYS_PATH}/reset`}
        confirm="Create a new key? All other keys stop working in 30 minutes."
      >
        {' '}
        Reset key{' '}
      </PostButton>
    </Card>
  );
}

const KEY_PATH = '/account/test-key';

export const TEST_DATA_PATH = '/account/test-data';

/** A product that the generated data have. */
const EXAMPLE_PRODUCT = '/explore/product?domain=1&asin=B08N5WRWNX';

/** Registers the creation of test keys, and the way to a product with test data. */
export function registerTestMode(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, testMode } = pages;

  scope.post(TEST_DATA_PATH, async (request, reply) => {
    if (!testMode) throw new SoukError('NOT_FOUND');
    const { liveAccountId } = customerOf(request);
    const accountId = await inTransaction(database, (client) =>
      openTestAccount(client, liveAccountId, clock.now(), testMode.unitsPerDay),
    );
    return reply.redirect(addressFor(accountId, EXAMPLE_PRODUCT), 303);
  });

  scope.post(KEY_PATH, async (request, reply) => {
    if (!testMode) throw new SoukError('NOT_FOUND');
    const customer = customerOf(request);
    const { liveAccountId, personId } = customer;
    const about = { personId, unitsPerDay: testMode.unitsPerDay };
    const key = await asMember(pages, request, 'keys', (client) =>
      createTestKey(client, liveAccountId, clock.now(), about),
    );
    // The page after the key shows the test account.
    await enter(pages, request, customer, testAccountOf(liveAccountId));
    noteActs(request, { action: 'key.created', target: keyPrefix(key) });
    return sendPage(
      reply,
      <Page title="Test key" heading="Your test key" path="/account/keys">
        <NewKey title="Copy the key" apiKey={key}>
          <p>Your first call, which is free:</p>
          <FirstCall apiKey={key} baseUrl={baseUrlOf(pages, request)} />
        </NewKey>
        <p>
          The pages now show your test account: its keys, usage, jobs and batches. The{' '}
          <a href="/explore">explorer</a> and the page <a href="/account/try">All operations</a> use its
          units.
        </p>
      </Page>,
    );
  });
}

/** The part of the keys page about test keys; nothing if test mode is off. */
async function testKeysCard(pages: Pages, request: FastifyRequest): Promise<VNode | null> {
  const { database, testMode } = pages;
  if (!testMode) return null;
  const { accountId, liveAccountId } = customerOf(request);
  const isTest = isTestAccount(accountId);
  const exists = isTest || (await hasTestAccount(database, liveAccountId));
  return (
    <Card id="test-keys" title="Test keys">
      <p>
        Calls with a test key are free and return generated data in the form of real data. Your account has{' '}
        {count(testMode.unitsPerDay)} test units a day. Answers have <code>"livemode": false</code>.
      </p>
      <div class="buttons">
        <PostButton action={KEY_PATH} class="primary">
          Create test key
        </PostButton>
        {exists && !isTest && (
          <ButtonLink to={accountPath(testAccountOf(liveAccountId))}>Show test account</ButtonLink>
        )}
      </div>
    </Card>
  );
}
