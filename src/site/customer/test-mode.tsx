import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { setSessionMode } from '../../accounts/sessions.ts';
import { hasTestAccount, isTestAccount, type Mode } from '../../accounts/test-accounts.ts';
import { createTestKey } from '../../billing/test-wallet.ts';
import { SoukError } from '../../platform/errors.ts';
import { FirstCall } from '../kit/first-call.tsx';
import { PostButton } from '../kit/form.tsx';
import { readForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { count } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf, loadSession, SESSION_COOKIES } from '../session.ts';
import { KeyShown } from './key-shown.tsx';

const KEY_PATH = '/account/test-key';

const switching = z.object({ mode: z.enum(['live', 'test']) });

/** Registers the creation of test keys, and the switch between the live and the test view of an account. */
export function registerTestMode(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, testMode } = pages;

  scope.post('/account/mode', async (request, reply) => {
    const form = readForm(switching, request.body);
    if (!form.ok) throw new SoukError('NOT_FOUND');
    const { mode } = form.input;
    if (mode === 'test' && !(await hasTestAccount(database, customerOf(request).liveAccountId)))
      return reply.redirect('/account/keys', 303);
    await switchTo(request, mode);
    return reply.redirect('/account', 303);
  });

  scope.post(KEY_PATH, async (request, reply) => {
    if (!testMode) throw new SoukError('NOT_FOUND');
    const { liveAccountId } = customerOf(request);
    const key = await createTestKey(database, liveAccountId, clock.now(), testMode.unitsPerDay);
    await switchTo(request, 'test');
    return sendTestKey(reply, key, baseUrlOf(pages, request));
  });

  async function switchTo(request: FastifyRequest, mode: Mode): Promise<void> {
    const token = request.cookies[SESSION_COOKIES.customer] ?? '';
    await setSessionMode(database, token, mode, clock.now());
    await loadSession(pages, 'customer')(request);
  }
}

function sendTestKey(reply: FastifyReply, key: string, baseUrl: string): FastifyReply {
  return sendPage(
    reply,
    <Page title="Test key" path="/account/keys">
      <h1>Your test key</h1>
      <section class="notice good">
        <h2>Copy the key</h2>
        <KeyShown apiKey={key} />
        <p>Your first call, which is free:</p>
        <FirstCall apiKey={key} baseUrl={baseUrl} />
      </section>
      <p>
        The pages now show your test account: its keys, usage, jobs and batches. The{' '}
        <a href="/explore">explorer</a> and the page <a href="/account/try">Try it</a> use its units.
      </p>
    </Page>,
  );
}

/** The part of the keys page about test keys; nothing if test mode is off. */
export async function testKeysCard(pages: Pages, request: FastifyRequest): Promise<VNode | null> {
  const { database, testMode } = pages;
  if (!testMode) return null;
  const { accountId, liveAccountId } = customerOf(request);
  const isTest = isTestAccount(accountId);
  const exists = isTest || (await hasTestAccount(database, liveAccountId));
  return (
    <section class="card" aria-labelledby="test-keys">
      <h2 id="test-keys">Test keys</h2>
      <p>
        Calls with a test key are free and return generated data in the form of real data. Your account has{' '}
        {count(testMode.unitsPerDay)} test units a day. Answers have <code>"livemode": false</code>.
      </p>
      <div class="buttons">
        <PostButton action={KEY_PATH} class="primary">
          Create test key
        </PostButton>
        {exists && !isTest && (
          <PostButton action="/account/mode" fields={{ mode: 'test' }}>
            Show test account
          </PostButton>
        )}
      </div>
    </section>
  );
}
