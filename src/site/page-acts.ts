import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import { type AccountAction, writeAct } from '../operator/account-audit.ts';
import type { Pages } from './pages.ts';

/** What a request has done. */
interface PageAct {
  action: AccountAction;
  target?: string | null;
  /** Default: the account of the page. */
  accountId?: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What a page says about its lines in the audit log; null: its address says it. */
    acts: PageAct[] | null;
  }
}

/**
 * Says what a request has done where its address does not. Without acts it has done nothing. Lines cannot be deleted, so a target has
 * no text that people enter.
 */
export function noteActs(request: FastifyRequest, ...acts: PageAct[]): void {
  request.acts = acts;
}

/**
 * What the forms of customers' pages do, by their route, for the audit log. null: the page calls the API, which writes the line;
 * or it makes a call, which is in the list of calls; or it changes nothing. A word distinguishes forms of the same action.
 */
const PAGE_ACTS: Readonly<Record<string, AccountAction | readonly [AccountAction, word: string] | null>> = {
  '/account/checkout': 'purchase.begun',
  '/account/orders/:orderId/cancel': 'purchase.cancelled',
  '/account/renewals/:id/cancel': ['renewal.changed', 'ends'],
  '/account/renewals/:id/resume': ['renewal.changed', 'renews'],
  '/account/renewals/:id/change': ['renewal.changed', 'another plan'],
  '/account/portal': null,
  '/account/top-up': 'top-up.changed',
  '/account/keys/first': 'key.created',
  '/account/keys/new': 'key.created',
  '/account/keys/reset': 'key.reset',
  '/account/keys/revoke': 'key.revoked',
  '/account/keys/:id': 'key.changed',
  '/account/test-data': null,
  '/account/test-key': 'key.created',
  '/account/team/invite': 'member.invited',
  '/account/team/withdraw': 'invitation.withdrawn',
  '/account/team/role': 'member.changed',
  '/account/team/remove': 'member.removed',
  '/account/settings/name': 'account.renamed',
  '/account/settings/single-sign-on/require': ['account.sso-required', 'required'],
  '/account/settings/single-sign-on/release': ['account.sso-required', 'not required'],
  '/account/settings/notices': 'notices.changed',
  '/account/settings/erase': 'account.erasure-requested',
  '/account/settings/keep': 'account.erasure-cancelled',
  '/account/charts/:id/revoke': 'link.revoked',
  '/account/batches/new': null,
  '/account/batches/:id/retry': null,
  '/account/batches/:id/cancel': null,
  '/account/jobs/:id/cancel': null,
  '/account/jobs/:id/again': null,
  '/account/try': null,
  '/account/try/picture': null,
  '/connect/:uid': 'connection.created',
  '/profile/password': 'person.password-changed',
  '/profile/email': 'person.email-changed',
  '/profile/confirm-email': null,
  '/profile/accounts': 'account.created',
  '/profile/explore': null,
  '/profile/erase': null,
  '/profile/two-factor/begin': null,
  '/profile/two-factor/confirm': ['person.two-factor-changed', 'on'],
  '/profile/two-factor/off': ['person.two-factor-changed', 'off'],
};

/** Pages of the account in their address; the other forms are about the live account, even if the pages show its test account. */
const OF_MODE = /^\/account\/(keys|test-key)(\/|$)/;

/** Pages whose forms all call the API. */
const BY_API = /^\/(explore|account\/(schedules|trackers|webhooks|links))(\/|$)/;

/** Writes the lines of the audit log for what requests to the pages of a scope have done, before they are answered. */
export function writePageActs(scope: FastifyInstance, { database }: Pick<Pages, 'database'>): void {
  scope.decorateRequest('acts', null);
  scope.addHook('onRoute', requireAct);
  scope.addHook('onSend', async (request, reply) => {
    const { session, entered, routeOptions } = request;
    if (!session || reply.statusCode >= 400) return;
    const isOfMode = OF_MODE.test(routeOptions.url ?? '');
    const accountId = (isOfMode ? entered?.accountId : entered?.liveAccountId) ?? null;
    for (const act of request.acts ?? actOfAddress(request))
      await writeAct(database, session.personId, { accountId, ...act });
  });
}

function actOfAddress({ method, routeOptions, params }: FastifyRequest): PageAct[] {
  const act = method === 'POST' ? PAGE_ACTS[routeOptions.url ?? ''] : null;
  if (!act) return [];
  const [action, word] = typeof act === 'string' ? [act] : act;
  const { id, orderId } = params as { id?: string; orderId?: string };
  return [{ action, target: [id ?? orderId, word].filter(Boolean).join(', ') || null }];
}

/** @throws if a form has no entry in the table. */
function requireAct({ method, url }: RouteOptions): void {
  const isForm = [method].flat().includes('POST');
  if (isForm && !BY_API.test(url) && PAGE_ACTS[url] === undefined)
    throw new Error(`the form ${url} needs the action of its line in the audit log, or null`);
}
