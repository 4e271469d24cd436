import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  type AccountKey,
  type KeyState,
  listKeys,
  ROTATION_MS,
  resetKey,
  revokeKeys,
} from '../../accounts/account-keys.ts';
import { createFirstKey, isKeyDue } from '../../accounts/first-key.ts';
import { SoukError } from '../../platform/errors.ts';
import { PostForm, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { customerOf, viewerOf } from '../session.ts';
import { FirstKey, KeyShown } from './key-shown.tsx';

const revocation = z.object({ id: z.string().regex(/^\d{1,18}$/) });

const STATES: Record<KeyState, readonly [tone: string, text: string]> = {
  active: ['good', 'Works'],
  rotated: ['warn', 'Runs out'],
  expired: ['', 'Has run out'],
  revoked: ['bad', 'Revoked'],
};

/** The account's API keys: seen once, reset, revoked. */
export function registerKeys(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages.gateway;

  scope.get('/account/keys', (request, reply) => send(request, reply, null));

  scope.post('/account/keys/first', async (request, reply) => {
    const key = await createFirstKey(database, customerOf(request).accountId, clock.now());
    if (key === null) return reply.redirect('/account/keys', 303);
    const baseUrl = baseUrlOf(pages, request);
    return send(request, reply, <FirstKey apiKey={key} baseUrl={baseUrl} />);
  });

  scope.post('/account/keys/reset', async (request, reply) => {
    const { accountId } = customerOf(request);
    if ((await listKeys(database, accountId, clock.now())).length === 0)
      throw new SoukError('NOT_FOUND', {
        message: 'There is no key yet: it is made with the first purchase.',
      });
    const { key, olderKeysUntil } = await resetKey(database, accountId, clock.now());
    return send(
      request,
      reply,
      <section class="notice good">
        <h2>Your new API key</h2>
        <KeyShown apiKey={key} />
        <p>
          It works at once. The keys of before work until <Time at={olderKeysUntil} />, so that your programs
          can change over.
        </p>
      </section>,
    );
  });

  scope.post('/account/keys/revoke', async (request, reply) => {
    const form = readForm(revocation, request.body);
    if (!form.ok) throw new SoukError('NOT_FOUND', { message: 'This account has no such key.' });
    const revoked = await revokeKeys(database, customerOf(request).accountId, form.input.id, clock.now());
    if (revoked.length === 0) throw new SoukError('NOT_FOUND', { message: 'This account has no such key.' });
    return reply.redirect('/account/keys', 303);
  });

  async function send(
    request: FastifyRequest,
    reply: FastifyReply,
    shown: VNode | null,
  ): Promise<FastifyReply> {
    const { accountId } = customerOf(request);
    const [keys, isDue] = await Promise.all([
      listKeys(database, accountId, clock.now()),
      isKeyDue(database, accountId),
    ]);
    const viewer = viewerOf(request, reply);
    const csrf = reply.generateCsrf();
    return sendPage(
      reply,
      <Page title="Keys" viewer={viewer} path="/account/keys">
        <h1>API keys</h1>
        <p class="lead">
          A key goes into the header <code>X-API-Key</code> of your calls. Whoever has it spends your units.
        </p>
        {shown}
        {keys.length === 0 && <NoKey isDue={isDue} csrf={csrf} />}
        {keys.length > 0 && (
          <>
            <KeyTable keys={keys} csrf={csrf} />
            <section class="card">
              <h2>Reset the key</h2>
              <p>
                You get a new key that works at once; the present one works for another {ROTATION_MS / 60_000}{' '}
                minutes.
              </p>
              <PostForm
                action="/account/keys/reset"
                csrf={csrf}
                confirm="Make a new key? The present one stops working in half an hour."
              >
                <button type="submit">Reset the key</button>
              </PostForm>
            </section>
          </>
        )}
      </Page>,
    );
  }
}

function NoKey({ isDue, csrf }: { isDue: boolean; csrf: string }): VNode {
  if (!isDue) {
    return (
      <div class="card empty">
        <p>Your key is made with your first purchase. The trial costs nothing.</p>
        <a class="button primary" href="/account/plans">
          Choose a plan
        </a>
      </div>
    );
  }
  return (
    <section class="card">
      <h2>Your key is ready</h2>
      <PostForm action="/account/keys/first" csrf={csrf}>
        <button type="submit" class="primary">
          Show my API key
        </button>
      </PostForm>
    </section>
  );
}

function KeyTable({ keys, csrf }: { keys: readonly AccountKey[]; csrf: string }): VNode {
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col">Made</th>
            <th scope="col">Last used</th>
            <th scope="col">Works until</th>
            <th scope="col">Action</th>
          </tr>
        </thead>
        <tbody>
          {keys.toReversed().map((key) => (
            <tr key={key.id}>
              <td>
                <code>{key.prefix}…</code>
              </td>
              <td>
                <span class={`tag ${STATES[key.state][0]}`}>{STATES[key.state][1]}</span>
              </td>
              <td>
                <Time at={key.createdAt} />
              </td>
              <td>{key.lastUsedAt ? <Time at={key.lastUsedAt} /> : <span class="muted">never</span>}</td>
              <td>
                {key.revokedAt ? (
                  <Time at={key.revokedAt} />
                ) : key.expiresAt ? (
                  <Time at={key.expiresAt} />
                ) : (
                  'reset'
                )}
              </td>
              <td>
                {(key.state === 'active' || key.state === 'rotated') && (
                  <PostForm
                    action="/account/keys/revoke"
                    csrf={csrf}
                    confirm={`Revoke ${key.prefix}…? Programs that use it are refused from now on.`}
                  >
                    <input type="hidden" name="id" value={String(key.id)} />
                    <button type="submit" class="small danger">
                      Revoke
                    </button>
                  </PostForm>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
