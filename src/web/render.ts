import type { FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';

/** Text, attributes and addresses in a page are escaped by the renderer; nothing writes HTML by hand. */
export function renderHtml(page: VNode): string {
  return `<!doctype html>${renderToString(page)}`;
}

/** Sends a page. Pages are of one person and one moment, so nobody keeps them. */
export function sendPage(reply: FastifyReply, page: VNode, status = 200): FastifyReply {
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(renderHtml(page));
}
