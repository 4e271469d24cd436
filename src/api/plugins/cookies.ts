import cookies from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Browsers accept a cookie with this prefix only over TLS, and only from the host itself. */
const HOST_PREFIX = '__Host-';

/**
 * Reads and sets cookies. Over TLS their names have the prefix `__Host-`, which handlers do not see, and cookies without it are
 * ignored: another host of the same domain could have set them.
 * @param publicUrl the setting PUBLIC_URL; null: the request tells whether it came over TLS.
 */
export async function registerCookies(scope: FastifyInstance, publicUrl: string | null): Promise<void> {
  await scope.register(cookies);
  scope.addHook('onRequest', (request, reply, done) => {
    if (isOverTls(request, publicUrl)) usePrefix(request, reply);
    done();
  });
}

function isOverTls({ protocol }: FastifyRequest, publicUrl: string | null): boolean {
  return publicUrl === null ? protocol === 'https' : publicUrl.startsWith('https:');
}

function usePrefix(request: FastifyRequest, reply: FastifyReply): void {
  const prefixed = Object.entries(request.cookies).filter(([name]) => name.startsWith(HOST_PREFIX));
  request.cookies = Object.fromEntries(
    prefixed.map(([name, value]) => [name.slice(HOST_PREFIX.length), value]),
  );
  const { setCookie, clearCookie } = reply;
  reply.setCookie = (name, value, options) =>
    setCookie.call(reply, HOST_PREFIX + name, value, { ...options, path: '/', secure: true });
  reply.clearCookie = (name, options) =>
    clearCookie.call(reply, HOST_PREFIX + name, { ...options, path: '/', secure: true });
}
