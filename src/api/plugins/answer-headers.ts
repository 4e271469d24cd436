import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Headers of all answers and errors of the API and of the tools. They belong to one key, so no cache may store them. */
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

/** Sets the headers of answers that belong to one key. Replies that run no hooks need a call of their own. */
export function keepPrivate({ url }: Pick<FastifyRequest, 'url'>, reply: FastifyReply): void {
  if (PRIVATE_PATH.test(url)) reply.headers(PRIVATE_ANSWER);
}
