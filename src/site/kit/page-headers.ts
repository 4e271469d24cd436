import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Allows scripts, styles, pictures and requests of this address only; nothing inline, no frames. */
export const CONTENT_POLICY = [
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
