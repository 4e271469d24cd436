import '@fastify/cookie';
import '@fastify/csrf-protection';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ClientBase } from 'pg';
import { modeOf } from '../accounts/authentication.ts';
import { type Ability, lockedRole, type Role } from '../accounts/members.ts';
import {
  beginSession,
  type Closed,
  deviceToken,
  type Entered,
  endSession,
  enterAccount,
  findSession,
  SESSION_COOKIE,
  type Session,
} from '../accounts/sessions.ts';
import { PENDING_SECONDS } from '../accounts/two-factor.ts';
import { writeLine } from '../operator/audit.ts';
import { inTransaction } from '../platform/db/transaction.ts';
import { SoukError } from '../platform/errors.ts';
import { VISITOR, type Viewer } from './kit/viewer.ts';
import { type Pages, requireAble, type Staff, staffOf } from './pages.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The account whose pages the request is for. */
    entered: Entered | null;
    /** Who acts in the console. */
    staff: Staff | null;
  }
}

/** The cookie of a browser in which a customer has signed in before. */
export const DEVICE_COOKIE = 'souk_device';

/** The same for somebody who has signed in by OpenID Connect. */
export const SSO_DEVICE_COOKIE = 'souk_device_sso';

const DEVICE_SECONDS = 365 * 86_400;

/** Returns a hook that loads the session of a request. */
export function loadSession({ database, clock }: Pages) {
  return async (request: FastifyRequest): Promise<void> => {
    const token = request.cookies[SESSION_COOKIE];
    request.session = token ? await findSession(database, token, clock.now()) : null;
  };
}

/**
 * Finds the account of a page, of which the signed-in person has to be a member. People with a role in the installation may
 * read the pages of every account, which is written to the audit log.
 * @returns whether the person may see it now: an account may require a session by OpenID Connect.
 * @throws SoukError NOT_FOUND if the account does not exist or the person has no access to it; KEY_FORBIDDEN if it is disabled.
 */
export async function enter(
  { database, clock, openId }: Pages,
  request: FastifyRequest,
  session: Session,
  accountId: number,
): Promise<boolean> {
  const token = request.cookies[SESSION_COOKIE] ?? '';
  const now = clock.now();
  const opened = { session, token, accountId, now, hasSso: openId !== null };
  const entered: Entered | Closed | null = await enterAccount(database, opened, (viewed) =>
    writeLine(database, staffOf(session, request).operator, { action: 'account.viewed', accountId: viewed }),
  );
  if (entered === 'disabled')
    throw new SoukError('KEY_FORBIDDEN', { message: 'This account is disabled. Contact the operator.' });
  if (entered === null) throw notYours();
  if (entered === 'single sign-on') return false;
  request.entered = entered;
  return true;
}

const notYours = () => new SoukError('NOT_FOUND', { message: 'There is no such account among yours.' });

/**
 * Makes a change in a transaction that locks the account. The person may have been removed from it, or have got another role, since
 * the request was let in.
 * @param change gets the present role of the person. @throws SoukError NOT_FOUND or KEY_FORBIDDEN.
 */
export function asMember<Result>(
  { database }: Pick<Pages, 'database'>,
  request: FastifyRequest,
  ability: Ability,
  change: (client: ClientBase, role: Role) => Promise<Result>,
): Promise<Result> {
  const { liveAccountId: accountId, personId } = customerOf(request);
  return inTransaction(database, async (client) => {
    const role = await lockedRole(client, { accountId, personId });
    if (role === null) throw notYours();
    requireAble(role, ability);
    return change(client, role);
  });
}

/** Sets the session cookie, which scripts cannot read and other sites cannot send. */
export function setSessionCookie(reply: FastifyReply, token: string): void {
  reply.setCookie(SESSION_COOKIE, token, { ...COOKIE_OPTIONS, maxAge: 30 * 86_400 });
}

/** The cookie of a visitor who has entered the password, and has to enter a code. */
export const PENDING_COOKIE = 'souk_pending';

export function setPendingCookie(reply: FastifyReply, token: string): void {
  reply.setCookie(PENDING_COOKIE, token, { ...COOKIE_OPTIONS, maxAge: PENDING_SECONDS });
}

export function clearPendingCookie(reply: FastifyReply): void {
  reply.clearCookie(PENDING_COOKIE, COOKIE_OPTIONS);
}

/** Sets the cookie by which a browser is recognised at the next sign-in. @param secret see `deviceToken`. */
export function rememberDevice(reply: FastifyReply, secret: string, cookie = DEVICE_COOKIE): void {
  reply.setCookie(cookie, deviceToken(secret), { ...COOKIE_OPTIONS, maxAge: DEVICE_SECONDS });
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(SESSION_COOKIE, COOKIE_OPTIONS);
}

/** Somebody who has signed in: by a stored password that was verified, with or without a code, or by OpenID Connect, with the secret of the device cookie. */
type SignedInPerson = { personId: number } & ({ digest: string; hasCode?: boolean } | { ssoDevice: string });

/**
 * Starts a person's session and ends the one of the request, so that its token is no longer valid.
 * @throws CredentialsChanged.
 */
export async function signInPerson(
  { database, clock }: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  signedIn: SignedInPerson,
): Promise<void> {
  const { personId } = signedIn;
  const isSso = 'ssoDevice' in signedIn;
  const who = isSso
    ? { personId, isSso }
    : { personId, passwordDigest: signedIn.digest, hasCode: signedIn.hasCode ?? false };
  const token = await beginSession(database, who, clock.now());
  if (request.session) await endSession(database, request.session.tokenHash);
  setSessionCookie(reply, token);
  if (isSso) rememberDevice(reply, signedIn.ssoDevice, SSO_DEVICE_COOKIE);
  else rememberDevice(reply, signedIn.digest);
}

/** The viewer of a page, who determines its navigation. */
export function viewerOf({ session, entered, staff, url }: FastifyRequest): Viewer {
  if (staff && url.startsWith('/admin')) return { kind: 'operator', email: session?.email ?? null };
  if (!session) return VISITOR;
  const { email, installationRole } = session;
  return {
    kind: 'customer',
    email,
    hasConsole: installationRole !== null,
    account: entered && {
      id: entered.accountId,
      name: entered.accountName,
      mode: modeOf(entered.accountId),
      role: entered.role,
      isStaff: entered.isStaff,
      others: entered.others,
    },
  };
}

/** The viewer of a page that does not read sessions, by the cookies of the request. */
export function returningViewer({ headers: { cookie = '' } }: FastifyRequest): Viewer {
  const names = cookie.split(/;\s*/).map((pair) => pair.replace(/=.*/, '').replace(/^__Host-/, ''));
  return names.includes(SESSION_COOKIE) ? { kind: 'returning' } : VISITOR;
}

/** The person of a page that requires signing in. */
export function personOf({ session }: FastifyRequest): Session {
  if (!session) throw new Error('the page requires a signed-in person');
  return session;
}

/** The person and the account of a customer's page. */
export function customerOf(request: FastifyRequest): Session & Entered {
  if (!request.entered) throw new Error('the page requires an account');
  return { ...personOf(request), ...request.entered };
}

export const COOKIE_OPTIONS = { path: '/', httpOnly: true, sameSite: 'lax' } as const;

const BASE = 'http://souk.invalid';

/** Encoded in a header, a longer path could exceed the 4 to 16 KB that proxies and clients accept. */
const LONGEST_PATH = 1_000;

/** Returns the query that names the path to return to after signing in; empty if the path is too long. */
export function returnQuery(path: string): string {
  return path.length > LONGEST_PATH ? '' : `?to=${encodeURIComponent(path)}`;
}

/**
 * A path of this site that a form or an address names, as a browser would normalise it.
 * @param roots first segments that it may have. @returns null for other paths, and for addresses of other sites.
 */
export function pathWithin(to: unknown, roots: readonly string[]): string | null {
  if (
    typeof to !== 'string' ||
    to.length > LONGEST_PATH ||
    !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(to) ||
    !URL.canParse(to, BASE)
  )
    return null;
  const { origin, pathname, search } = new URL(to, BASE);
  const [, root = ''] = pathname.split('/');
  return origin === BASE && roots.includes(root) ? `${pathname}${search}` : null;
}
