import '@fastify/cookie';
import '@fastify/csrf-protection';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OPERATOR_COOKIE } from '../accounts/operator-session.ts';
import { beginSession, endSession, findSession, type Session } from '../accounts/sessions.ts';
import { VISITOR, type Viewer } from './kit/layout.tsx';
import type { Pages } from './pages.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the customer or operator who is signed in; pages only. */
    session: Session | null;
  }
}

export type CustomerSession = Extract<Session, { kind: 'customer' }>;

/** The cookies of customers and of operators. A browser may have both. */
export const SESSION_COOKIES = { customer: 'souk_session', operator: OPERATOR_COOKIE } as const;

/** Loads the session of a request: of an operator for the console, of a customer for all other pages. */
export function loadSession({ database, clock }: Pages, kind: keyof typeof SESSION_COOKIES) {
  return async (request: FastifyRequest): Promise<void> => {
    const token = request.cookies[SESSION_COOKIES[kind]];
    const session = token ? await findSession(database, token, clock.now()) : null;
    request.session = session?.kind === kind ? session : null;
  };
}

/** Lets a session's token be kept by the browser, for this site's own requests and no script. */
export function keepToken(
  reply: FastifyReply,
  pages: Pages,
  kind: keyof typeof SESSION_COOKIES,
  token: string,
): void {
  reply.setCookie(SESSION_COOKIES[kind], token, { ...cookieOptions(pages), maxAge: 30 * 86_400 });
}

export function forgetToken(reply: FastifyReply, pages: Pages, kind: keyof typeof SESSION_COOKIES): void {
  reply.clearCookie(SESSION_COOKIES[kind], cookieOptions(pages));
}

/** Begins a session of a customer in place of the present one: a token that came with the request is worth nothing after. */
export async function signInCustomer(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  accountId: number,
): Promise<void> {
  const { database, clock } = pages;
  if (request.session) await endSession(database, request.session.tokenHash);
  keepToken(reply, pages, 'customer', await beginSession(database, { accountId }, clock.now()));
}

/** Who the frame of a page is for. */
export function viewerOf({ session }: FastifyRequest): Viewer {
  if (!session) return VISITOR;
  return session.kind === 'operator'
    ? { kind: 'operator' }
    : { kind: 'customer', email: session.email, isOperator: session.isOperator };
}

/** The session of a page that only customers get to. */
export function customerOf(request: FastifyRequest): CustomerSession {
  if (request.session?.kind !== 'customer') throw new Error('a page for customers without a customer');
  return request.session;
}

function cookieOptions({ publicUrl }: Pages) {
  const secure = publicUrl?.startsWith('https:') ?? false;
  return { path: '/', httpOnly: true, sameSite: 'lax', secure } as const;
}
