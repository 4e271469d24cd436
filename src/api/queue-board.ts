import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Queues } from '../../jobs/queues.ts';
import type { Attempts } from '../accounts/attempts.ts';
import { findSession, SESSION_COOKIE } from '../accounts/sessions.ts';
import type { BatchQueue } from '../batches/uploads.ts';
import { faultsIn } from '../operations/faults.ts';
import { POOL_NAMES } from '../operations/pools.ts';
import { holderOf, personOperator, writeLine } from '../operator/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { invalidParameters, SoukError } from '../platform/errors.ts';
import { sendError } from './envelope.ts';
import { registerCookies } from './plugins/cookies.ts';
import { requireToken } from './require-token.ts';

const PATH = '/admin/queues';

/** Allows scripts, styles and pictures from this host only. */
const CONTENT_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

/** The way back to the console. Bull Board has a place for links only in a menu of an icon. */
const WAY_BACK = `<a href="/admin" style="position:fixed;right:1rem;bottom:1rem;z-index:100;padding:.5rem .9rem;border-radius:8px;background:#0d6b5e;color:#fff;font:600 14px system-ui,sans-serif;text-decoration:none">Operator console</a>`;

/** The page of Bull Board links to fonts of another host, which the policy would block. */
const OTHER_HOSTS = /<link href="https?:[^>]*>/g;

export interface QueueBoardDeps {
  queues: Queues;
  batchQueue: BatchQueue;
  database: Database;
  clock: Clock;
  attempts: Attempts;
  /** The setting PUBLIC_URL. */
  publicUrl: string | null;
}

/**
 * Registers Bull Board over all queues, for the operator. Its actions cannot change money: a call ends once, even if its
 * job is changed, and a deleted job of an open call is enqueued again. Without a token, it is not loaded.
 */
export function registerQueueBoard(
  app: FastifyInstance,
  { queues, batchQueue, database, clock, attempts, publicUrl }: QueueBoardDeps,
  token: string,
): void {
  app.register(
    async (scope) => {
      const { createBullBoard } = await import('@bull-board/api');
      const { BullMQAdapter } = await import('@bull-board/api/bullMQAdapter');
      const { FastifyAdapter } = await import('@bull-board/fastify');
      const serverAdapter = new FastifyAdapter();
      const boards = [...POOL_NAMES.map(queues.of), batchQueue];
      createBullBoard({
        queues: boards.map((queue) => new BullMQAdapter(queue)),
        serverAdapter,
        options: { uiConfig: { boardTitle: 'Souk', hideDocsLink: true } },
      });
      serverAdapter.setBasePath(PATH);
      await registerCookies(scope, publicUrl);
      scope.decorateRequest('session', null);
      scope.addHook('onRequest', async (request, reply) => {
        const cookie = request.cookies[SESSION_COOKIE];
        request.session = cookie ? await findSession(database, cookie, clock.now()) : null;
        const { session, headers } = request;
        if (!session || isOperator(request) || headers.authorization !== undefined) return undefined;
        const message = 'The queues are for people with the role operator.';
        return sendError(reply, new SoukError('KEY_FORBIDDEN', { message }));
      });
      scope.addHook('onRequest', requireToken(token, { attempts, database }, isOperator));
      scope.addHook('onRequest', refuseOtherSites);
      scope.addHook('onRequest', refuseOddQuery(boards.map((queue) => queue.name)));
      scope.addHook('preHandler', async ({ method, url, ip, session }) => {
        if (method === 'GET' || method === 'HEAD') return;
        const target = `${method} ${url.split('?', 1)[0]?.slice(PATH.length)}`.slice(0, 200);
        await writeLine(database, session ? personOperator(session, ip) : holderOf(token, ip), {
          action: 'queue.changed',
          target,
        });
      });
      scope.addHook('onSend', async (_request, reply, payload) => {
        reply.header('content-security-policy', CONTENT_POLICY).header('x-content-type-options', 'nosniff');
        reply.header('referrer-policy', 'no-referrer');
        const isPage =
          typeof payload === 'string' && /^text\/html/.test(String(reply.getHeader('content-type')));
        return isPage ? payload.replace(OTHER_HOSTS, '').replace('</body>', `${WAY_BACK}</body>`) : payload;
      });
      await scope.register(serverAdapter.registerPlugin());
    },
    { prefix: PATH },
  );
}

function isOperator({ session }: FastifyRequest): boolean {
  return session?.installationRole === 'operator';
}

const STATUSES = [
  'latest',
  'active',
  'waiting',
  'waiting-children',
  'prioritized',
  'completed',
  'failed',
  'delayed',
  'paused',
];

/** Refuses values in the query that Bull Board would answer with an internal error. */
function refuseOddQuery(queueNames: readonly string[]) {
  const oneOf = (values: readonly string[]) =>
    z.enum(['', ...values], `must be one of ${values.join(', ')}`).optional();
  const wholeNumber = (most: number) => {
    const problem = `must be a whole number from 1 to ${most}`;
    return z.coerce.number(problem).int(problem).min(1, problem).max(most, problem).optional();
  };
  const schema = z.object({
    activeQueue: oneOf(queueNames),
    status: oneOf(STATUSES),
    page: wholeNumber(1_000_000),
    jobsPerPage: wholeNumber(1_000),
  });
  return async ({ query }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const parsed = schema.safeParse(query);
    return parsed.success ? undefined : sendError(reply, invalidParameters(faultsIn(parsed.error)));
  };
}

/** Refuses requests of pages of other sites, because a browser adds the token to them. */
async function refuseOtherSites(
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const site = request.headers['sec-fetch-site'];
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  if (site === undefined || site === 'same-origin' || site === 'none') return undefined;
  return sendError(
    reply,
    new SoukError('KEY_FORBIDDEN', { message: 'This action is allowed from pages of this site only.' }),
  );
}
