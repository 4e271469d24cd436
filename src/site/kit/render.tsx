import type { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Negotiator from 'negotiator';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { linkedFor } from '../../accounts/account-address.ts';
import { dispositionOf, sendVersion, type Version, versionOf } from '../../api/envelope.ts';
import { TABLE_FORMATS } from '../../operations/tables/formats.ts';
import { recentlyUsed } from '../../platform/recently-used.ts';
import { viewerOf } from '../session.ts';
import { CurrentPage, type PageContext, STATIC_PAGE } from './page-context.ts';
import type { Viewer } from './viewer.ts';

/** A page that fits into one packet gains nothing from compression. */
const MIN_COMPRESSED_CHARACTERS = 1_400;

/** Renders a page. The renderer escapes all text and attributes. */
function renderHtml(page: VNode): string {
  return `<!doctype html>${renderToString(page)}`;
}

/** Renders a page without forms for many readers. */
function keptHtml(page: VNode, context: Partial<PageContext>): string {
  return renderHtml(
    <CurrentPage.Provider value={{ ...STATIC_PAGE, ...context }}>{page}</CurrentPage.Provider>,
  );
}

/** Renders a page without forms of ours, the same for all readers. */
export function staticHtml(page: VNode): string {
  return keptHtml(page, { viewer: { kind: 'visitor' }, announcements: [] });
}

/**
 * Sends a page, compressed if the browser accepts it. Pages are personal, so caches must not store them. Each page has new
 * form tokens, so the length of a compressed page reveals nothing about them.
 */
export function sendPage(
  reply: FastifyReply,
  page: VNode,
  status = 200,
  viewer = viewerOf(reply.request),
): FastifyReply {
  const rendered = renderHtml(
    <CurrentPage.Provider value={contextOf(reply, viewer)}>{page}</CurrentPage.Provider>,
  );
  const { entered } = reply.request;
  const html = entered ? linkedFor(entered.accountId, rendered) : rendered;
  reply
    .code(status)
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .header('vary', 'accept-encoding');
  const accepted = reply.request.headers['accept-encoding'] === undefined ? [] : encodings(reply);
  if (html.length < MIN_COMPRESSED_CHARACTERS || accepted[0] !== 'gzip') return reply.send(html);
  const compressed = createGzip();
  compressed.end(html);
  return reply.header('content-encoding', 'gzip').send(compressed);
}

const FILE_TYPES = {
  json: { contentType: 'application/json; charset=utf-8' },
  ...TABLE_FORMATS,
} as const;

/** Sends a file that the browser saves. Files are personal, as pages are. @param name with its extension, or without it. */
export function sendFile(
  reply: FastifyReply,
  { name, type }: { name: string; type: keyof typeof FILE_TYPES },
  body: string | Readable,
): FastifyReply {
  return reply
    .type(FILE_TYPES[type].contentType)
    .header('cache-control', 'no-store')
    .header('content-disposition', dispositionOf(name.endsWith(`.${type}`) ? name : `${name}.${type}`))
    .send(body);
}

function contextOf(reply: FastifyReply, viewer: Viewer): PageContext {
  const { request, server } = reply;
  const [path = '/'] = request.url.split('?', 1);
  let token: string | undefined;
  return {
    viewer,
    path,
    announcements: server.announcementsFor(request, viewer),
    offeredBy: server.offeredBy,
    formToken() {
      // Without the cookie, each token has its own secret, and the browser keeps only the last secret. So all forms of the page get one token.
      token ??= reply.generateCsrf();
      return token;
    },
  };
}

function encodings({ request }: FastifyReply): string[] {
  return new Negotiator(request.raw).encodings(['gzip', 'identity']);
}

/** Sends a page without forms that is the same for all readers of a kind. */
type SendKeptPage = (
  reply: FastifyReply,
  about: {
    /** Everything else that the page depends on. */
    key: string;
    viewer: Viewer;
    page(): VNode;
  },
) => FastifyReply;

/** The most pages that are kept. One takes about 50 KB. */
const MAX_KEPT = 100;

/** Keeps rendered pages with their compressed form, so that a visitor costs no rendering. */
export function createKeptPages(): SendKeptPage {
  const kept = recentlyUsed<string, Version>(MAX_KEPT);
  return (reply, { key, viewer, page }) => {
    const { request, server } = reply;
    const announcements = server.announcementsFor(request, viewer);
    const name = JSON.stringify([viewer.kind, announcements.map(({ id }) => id), key]);
    const version =
      kept.get(name) ??
      versionOf(
        keptHtml(page(), { viewer, announcements, offeredBy: server.offeredBy }),
        'text/html; charset=utf-8',
      );
    kept.set(name, version);
    return sendVersion(request, reply, version);
  };
}

/** Allows scripts, styles, pictures and requests of this address only; nothing inline, no frames. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * Sets the security headers of every page. A route that needs another content policy sets its own.
 * @param formTargets other sites that forms may redirect to, such as a payment provider.
 */
export function setPageHeaders(scope: FastifyInstance, formTargets: readonly string[] = []): void {
  const headers = pageHeaders(formTargets);
  scope.addHook('onRequest', async (_request, reply) => {
    reply.headers(headers);
  });
}

/** Returns the security headers of a page. */
export function pageHeaders(formTargets: readonly string[] = []): Record<string, string> {
  return {
    'content-security-policy': CONTENT_POLICY.replace(
      "form-action 'self'",
      ["form-action 'self'", ...formTargets].join(' '),
    ),
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  };
}

/** Makes a hook that also allows the pictures of another site. It runs after the one that sets the page's headers. */
export function allowPictures(origin: string) {
  return async (_request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const policy = String(reply.getHeader('content-security-policy'));
    reply.header('content-security-policy', policy.replace("img-src 'self'", `img-src 'self' ${origin}`));
  };
}
