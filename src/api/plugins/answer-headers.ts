import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Of every answer of the API and of the tools, errors too: it belongs to one key, and no cache may keep it. */
export const PRIVATE_ANSWER = {
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
  vary: 'Authorization, X-API-Key, Accept-Encoding',
} as const;

/** Browsers use TLS for this host from now on, for a year. */
const STRICT_TRANSPORT = 'max-age=31536000';

const PRIVATE_PATH = /^\/(?:api|mcp)(?:[/?]|$)/;

/**
 * Sets the headers that keep answers out of caches, and browsers on TLS.
 * @param publicUrl the setting PUBLIC_URL.
 */
export function setAnswerHeaders(app: FastifyInstance, publicUrl: string | undefined): void {
  const isOverTls = publicUrl?.startsWith('https:') ?? false;
  app.addHook('onRequest', (request, reply, done) => {
    if (isOverTls) reply.header('strict-transport-security', STRICT_TRANSPORT);
    keepPrivate(request, reply);
    done();
  });
}

/** The same for an address that reaches no hook. */
export function keepPrivate({ url }: Pick<FastifyRequest, 'url'>, reply: FastifyReply): void {
  if (PRIVATE_PATH.test(url)) reply.headers(PRIVATE_ANSWER);
}
