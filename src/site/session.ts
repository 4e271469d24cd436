import '@fastify/cookie';
import '@fastify/csrf-protection';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OPERATOR_COOKIE } from '../accounts/operator-session.ts';
import { findSession, type Session } from '../accounts/sessions.ts';
import type { Viewer } from './kit/layout.tsx';
import type { Pages, SiteDeps } from './pages.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of whoever is signed in; pages only. */
    session: Session | null;
  }
}

export type CustomerSession = Extract<Session, { kind: 'customer' }>;

/** The cookies of customers and of operators: who is both is both at once. */
export const SESSION_COOKIES = { customer: 'souk_session', operator: OPERATOR_COOKIE } as const;

/** Finds out who comes: pages of the desk look for an operator, all others for a customer. */
export function recognising({ database, clock }: SiteDeps, kind: keyof typeof SESSION_COOKIES) {
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

/** How a page's frame sees whoever is signed in. */
export function viewerOf(request: FastifyRequest, reply: FastifyReply): Viewer {
  const { session } = request;
  if (!session) return { kind: 'visitor' };
  const csrf = reply.generateCsrf();
  if (session.kind === 'operator') return { kind: 'operator', csrf };
  const { email, accountId, isOperator } = session;
  return { kind: 'customer', email, accountId, csrf, isOperator };
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
