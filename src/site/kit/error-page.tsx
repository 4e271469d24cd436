import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { accountNamed, addressFor, routeOf } from '../../accounts/account-address.ts';
import { isTestAccount, testAccountOf } from '../../accounts/authentication.ts';
import { membershipsOf } from '../../accounts/members.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import { isStoreDown } from '../../platform/outage.ts';
import type { Pages } from '../pages.ts';
import { returningViewer } from '../session.ts';
import { PrimaryLink } from './elements.tsx';
import { Page } from './layout.tsx';
import { pageHeaders, sendPage } from './render.tsx';
import { homeOf } from './viewer.ts';

/** Sends every error of a page as an error page. */
export function registerErrorPages(scope: FastifyInstance, { log, events, database }: Pages): void {
  scope.setErrorHandler(async (error: FastifyError | SoukError | Error, request, reply) => {
    const { status, title, text, isOurs } = errorTextOf(error);
    if (isOurs) {
      const place = request.routeOptions.url ?? 'none';
      log.error({ err: error, requestId: request.id, route: place }, 'page failed');
      events.emit({
        type: 'failure',
        code: status === 503 ? 'BUSY' : '5000',
        place,
        requestId: request.id,
        cause: error,
      });
    }
    if (error instanceof SoukError) events.emit({ type: 'request.refused', error: error.kind });
    // A redirect that could not be sent has already set this header.
    reply.removeHeader('location');
    if (error instanceof SoukError && error.retryAfterSeconds !== undefined)
      reply.header('retry-after', error.retryAfterSeconds);
    const isClosed = status === 403 && !request.entered;
    const elsewhere = status === 404 || isClosed ? await otherAccounts(database, request) : [];
    return sendErrorPage(request, reply, { status, title, text, elsewhere });
  });
}

/** The same page of another account. */
interface Elsewhere {
  href: string;
  name: string;
}

/** The other accounts of the person whose page has not been found, or whose account is disabled; none if no account has such a page. */
async function otherAccounts(
  database: Queryable,
  { method, originalUrl, routeOptions, session, entered }: FastifyRequest,
): Promise<Elsewhere[]> {
  const isPage = method === 'GET' && routeOptions.url !== '/account/*';
  const named = accountNamed(originalUrl);
  if (!isPage || !session || named === null) return [];
  const accounts = entered
    ? entered.others
    : (await membershipsOf(database, session.personId))
        .filter(({ isActive }) => isActive)
        .map(({ accountId: id, accountName: name }) => ({ id, name }));
  const path = routeOf(originalUrl);
  return accounts.map(({ id, name }) => ({
    href: addressFor(isTestAccount(named) ? testAccountOf(id) : id, path),
    name,
  }));
}

/** Addresses whose clients are programs. */
const PROGRAM_PATH = /^\/(?:api|mcp|assets|metrics|healthz|readyz)(?:[/?.]|$)/;

/** Sends the page for an unknown address to a browser. @returns null for other clients. */
export function sendNotFoundPage(request: FastifyRequest, reply: FastifyReply): FastifyReply | null {
  const { method, url, headers } = request;
  const isPage = (method === 'GET' || method === 'HEAD') && !PROGRAM_PATH.test(url);
  if (!isPage || !headers.accept?.includes('text/html')) return null;
  reply.headers(pageHeaders());
  return sendErrorPage(request, reply, {
    status: 404,
    title: 'Not found',
    text: 'This page does not exist.',
  });
}

function sendErrorPage(
  request: FastifyRequest,
  reply: FastifyReply,
  about: { status: number; title: string; text: string; elsewhere?: readonly Elsewhere[] },
): FastifyReply {
  const { status, title, text, elsewhere = [] } = about;
  const viewer = returningViewer(request);
  return sendPage(
    reply,
    // A navigation without forms: the error may have occurred before their token was created.
    <Page title={title}>
      <p class="lead">{text}</p>
      {elsewhere.length > 0 && (
        <>
          <p>
            {status === 404
              ? 'If the address is of another of your accounts, open it there:'
              : 'Your other accounts:'}
          </p>
          <ul>
            {elsewhere.map(({ href, name }) => (
              <li key={href}>
                <a href={href}>{name}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="row">
        <PrimaryLink to={homeOf(viewer)}>Back to the overview</PrimaryLink>
        <small>Request {request.id}</small>
      </p>
    </Page>,
    status,
    viewer,
  );
}

interface ErrorText {
  status: number;
  title: string;
  text: string;
  isOurs: boolean;
}

/** PostgreSQL's codes for text with a zero byte or half a surrogate pair. */
const NO_TEXT = new Set(['22021', '22P05']);

function errorTextOf(error: FastifyError | SoukError | Error): ErrorText {
  if (error instanceof SoukError) {
    const { status } = ERRORS[error.kind];
    const titles: Record<number, string> = { 400: 'Invalid request', 404: 'Not found', 413: 'Too large' };
    return {
      status,
      title: titles[status] ?? 'Request failed',
      text: error.message,
      isOurs: error.kind === 'INTERNAL',
    };
  }
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>;
  if (code.startsWith('FST_CSRF')) {
    const text =
      'The form has expired or was sent from another site. Go back, reload the page and send the form again.';
    return { status: 403, title: 'Form expired', text, isOurs: false };
  }
  if (statusCode === 413) {
    const text = 'The form data is too large. The API accepts larger requests; see the documentation.';
    return { status: 413, title: 'Too large', text, isOurs: false };
  }
  // An address may contain characters that PostgreSQL does not accept in text.
  if ((statusCode >= 400 && statusCode < 500) || NO_TEXT.has(code))
    return {
      status: statusCode < 500 ? statusCode : 400,
      title: 'Invalid request',
      text: 'The request is malformed.',
      isOurs: false,
    };
  if (isStoreDown(error)) {
    const text = 'The service is temporarily unavailable. Try again in a few seconds.';
    return { status: 503, title: 'Temporarily unavailable', text, isOurs: true };
  }
  return {
    status: 500,
    title: 'Internal error',
    text: 'An error occurred on our side. If it persists, send the request id below to the operator.',
    isOurs: true,
  };
}
