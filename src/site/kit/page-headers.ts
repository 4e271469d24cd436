import type { FastifyInstance } from 'fastify';

/** Scripts, styles, pictures and calls come from and go to this address or not at all; nothing inline, no frames. */
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
 * What every page tells browsers. A route that needs another content policy sets its own.
 * @param formTargets other sites that answers to forms may lead to, such as where one pays.
 */
export function setPageHeaders(scope: FastifyInstance, formTargets: readonly string[] = []): void {
  const policy = CONTENT_POLICY.replace(
    "form-action 'self'",
    ["form-action 'self'", ...formTargets].join(' '),
  );
  scope.addHook('onRequest', async (_request, reply) => {
    reply.headers({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
    });
  });
}
