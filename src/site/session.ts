import '@fastify/cookie';
import '@fastify/csrf-protection';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { modeOf } from '../accounts/authentication.ts';
import { isOf, OPERATOR_COOKIE, type OPERATOR_DEVICE_COOKIE } from '../accounts/operator-sign-in.ts';
import type { StoredPassword } from '../accounts/passwords.ts';
import { beginSession, deviceToken, endSession, findSession, type Session } from '../accounts/sessions.ts';
import { PENDING_SECONDS } from '../accounts/two-factor.ts';
import { VISITOR, type Viewer } from './kit/layout.tsx';
import type { Pages } from './pages.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the signed-in customer or operator; set for pages only. */
    session: Session | null;
  }
}

type CustomerSession = Extract<Session, { kind: 'customer' }>;

/** Names of the session cookies. A browser may have both. */
export const SESSION_COOKIES = { customer: 'souk_session', operator: OPERATOR_COOKIE } as const;

/** The cookie of a browser in which a customer has signed in before. */
export const DEVICE_COOKIE = 'souk_device';

const DEVICE_SECONDS = 365 * 86_400;

/**
 * Returns a hook that loads the session of a request: an operator's for the console, a customer's for all other pages. A session
 * that an operator has started with an earlier token is not valid.
 */
export function loadSession({ database, clock, adminToken }: Pages, kind: keyof typeof SESSION_COOKIES) {
  return async (request: FastifyRequest): Promise<void> => {
    const token = request.cookies[SESSION_COOKIES[kind]];
    const session = token ? await findSession(database, token, clock.now()) : null;
    const isOperators = session?.kind === 'operator' || session?.isOperator === true;
    const isOver = isOperators && (adminToken === undefined || !isOf(session, adminToken));
    request.session = session?.kind === kind && !isOver ? session : null;
  };
}

/** Sets the session cookie, which scripts cannot read and other sites cannot send. */
export function setSessionCookie(
  reply: FastifyReply,
  kind: keyof typeof SESSION_COOKIES,
  token: string,
): void {
  reply.setCookie(SESSION_COOKIES[kind], token, { ...COOKIE_OPTIONS, maxAge: 30 * 86_400 });
}

/** The cookie of a visitor who has entered the password, or the operator token, and has to enter a code. */
export const PENDING_COOKIE = 'souk_pending';

export function setPendingCookie(reply: FastifyReply, token: string): void {
  reply.setCookie(PENDING_COOKIE, token, { ...COOKIE_OPTIONS, maxAge: PENDING_SECONDS });
}

export function clearPendingCookie(reply: FastifyReply): void {
  reply.clearCookie(PENDING_COOKIE, COOKIE_OPTIONS);
}

/** Sets the cookie by which a browser is recognised at the next sign-in. @param secret the stored password, or the operator's token. */
export function rememberDevice(
  reply: FastifyReply,
  cookie: typeof DEVICE_COOKIE | typeof OPERATOR_DEVICE_COOKIE,
  secret: string,
): void {
  reply.setCookie(cookie, deviceToken(secret), { ...COOKIE_OPTIONS, maxAge: DEVICE_SECONDS });
}

export function clearSessionCookie(reply: FastifyReply, kind: keyof typeof SESSION_COOKIES): void {
  reply.clearCookie(SESSION_COOKIES[kind], COOKIE_OPTIONS);
}

/**
 * Starts a customer's session and ends the one of the request, so that its token is no longer valid.
 * @throws PasswordChanged if the password has been changed since it was verified.
 */
export async function signInCustomer(
  { database, clock }: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  { accountId, digest }: StoredPassword,
): Promise<void> {
  const token = await beginSession(database, { accountId, passwordDigest: digest }, clock.now());
  if (request.session) await endSession(database, request.session.tokenHash);
  setSessionCookie(reply, 'customer', token);
  rememberDevice(reply, DEVICE_COOKIE, digest);
}

/** The viewer of a page, who determines its navigation. */
export function viewerOf({ session }: FastifyRequest): Viewer {
  if (!session) return VISITOR;
  return session.kind === 'operator'
    ? { kind: 'operator' }
    : {
        kind: 'customer',
        email: session.email,
        isOperator: session.isOperator,
        mode: modeOf(session.accountId),
      };
}

/** The viewer of a page that does not read sessions, by the cookies of the request. */
export function returningViewer({ url, headers: { cookie = '' } }: FastifyRequest): Viewer {
  const names = cookie.split(/;\s*/).map((pair) => pair.replace(/=.*/, '').replace(/^__Host-/, ''));
  const has = (name: string) => names.includes(name);
  if (url.startsWith('/admin') && has(SESSION_COOKIES.operator)) return { kind: 'returning', to: 'operator' };
  return has(SESSION_COOKIES.customer) ? { kind: 'returning', to: 'customer' } : VISITOR;
}

/** The session of a page that requires a signed-in customer. */
export function customerOf(request: FastifyRequest): CustomerSession {
  if (request.session?.kind !== 'customer') throw new Error('the page requires a signed-in customer');
  return request.session;
}

const COOKIE_OPTIONS = { path: '/', httpOnly: true, sameSite: 'lax' } as const;

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
