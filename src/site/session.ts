import '@fastify/cookie';
import '@fastify/csrf-protection';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OPERATOR_COOKIE } from '../accounts/operator-session.ts';
import { beginSession, endSession, findSession, type Session } from '../accounts/sessions.ts';
import { VISITOR, type Viewer } from './kit/layout.tsx';
import type { Pages } from './pages.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the signed-in customer or operator; set for pages only. */
    session: Session | null;
  }
}

export type CustomerSession = Extract<Session, { kind: 'customer' }>;

/** Names of the session cookies. A browser may have both. */
export const SESSION_COOKIES = { customer: 'souk_session', operator: OPERATOR_COOKIE } as const;

/** Returns a hook that loads the session of a request: an operator's for the console, a customer's for all other pages. */
export function loadSession({ database, clock }: Pages, kind: keyof typeof SESSION_COOKIES) {
  return async (request: FastifyRequest): Promise<void> => {
    const token = request.cookies[SESSION_COOKIES[kind]];
    const session = token ? await findSession(database, token, clock.now()) : null;
    request.session = session?.kind === kind ? session : null;
  };
}

/** Sets the session cookie, which scripts cannot read and other sites cannot send. */
export function setSessionCookie(
  reply: FastifyReply,
  pages: Pages,
  kind: keyof typeof SESSION_COOKIES,
  token: string,
): void {
  reply.setCookie(SESSION_COOKIES[kind], token, { ...cookieOptions(pages), maxAge: 30 * 86_400 });
}

export function clearSessionCookie(
  reply: FastifyReply,
  pages: Pages,
  kind: keyof typeof SESSION_COOKIES,
): void {
  reply.clearCookie(SESSION_COOKIES[kind], cookieOptions(pages));
}

/** Starts a customer's session and ends the one of the request, so that its token is no longer valid. */
export async function signInCustomer(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  accountId: number,
): Promise<void> {
  const { database, clock } = pages;
  if (request.session) await endSession(database, request.session.tokenHash);
  setSessionCookie(reply, pages, 'customer', await beginSession(database, { accountId }, clock.now()));
}

/** The viewer of a page, who determines its navigation. */
export function viewerOf({ session }: FastifyRequest): Viewer {
  if (!session) return VISITOR;
  return session.kind === 'operator'
    ? { kind: 'operator' }
    : { kind: 'customer', email: session.email, isOperator: session.isOperator };
}

/** The session of a page that requires a signed-in customer. */
export function customerOf(request: FastifyRequest): CustomerSession {
  if (request.session?.kind !== 'customer') throw new Error('the page requires a signed-in customer');
  return request.session;
}

function cookieOptions({ publicUrl }: Pages) {
  const secure = publicUrl?.startsWith('https:') ?? false;
  return { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
}
