import { createGzip } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import Negotiator from 'negotiator';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { viewerOf } from '../session.ts';
import type { Viewer } from './layout.tsx';
import { CurrentPage, type PageContext, STATIC_PAGE } from './page-context.ts';

/** A page that fits into one packet gains nothing from compression. */
const MIN_COMPRESSED_CHARACTERS = 1_400;

/** Renders a page. The renderer escapes all text and attributes. */
export function renderHtml(page: VNode): string {
  return `<!doctype html>${renderToString(page)}`;
}

/** Renders a page without forms for many readers. */
export function keptHtml(page: VNode, context: Pick<PageContext, 'viewer' | 'announcements'>): string {
  return renderHtml(
    <CurrentPage.Provider value={{ ...STATIC_PAGE, ...context }}>{page}</CurrentPage.Provider>,
  );
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
  const html = renderHtml(
    <CurrentPage.Provider value={contextOf(reply, viewer)}>{page}</CurrentPage.Provider>,
  );
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

function contextOf(reply: FastifyReply, viewer: Viewer): PageContext {
  const { request, server } = reply;
  const [path = '/'] = request.url.split('?', 1);
  let token: string | undefined;
  return {
    viewer,
    path,
    announcements: server.announcementsFor(request, viewer),
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
