import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SoukError } from '../../platform/errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/**
 * Registers routes, and replies 405 to all other methods of their paths.
 * @param guard is applied to the refusals below /api/, which need a key like all addresses there.
 */
export function refusingOtherMethods(
  app: FastifyInstance,
  registerRoutes: (scope: FastifyInstance) => void,
  guard: (scope: FastifyInstance) => void = () => {},
): void {
  const methodsByPath = new Map<string, string[]>();
  app.register(async (scope) => {
    scope.addHook('onRoute', ({ url, method }) => {
      methodsByPath.set(url, [...(methodsByPath.get(url) ?? []), ...[method].flat()]);
    });
    registerRoutes(scope);
  });
  // Loaded after the routes above, including those of nested scopes, are registered.
  app.register(async (scope) => {
    for (const [url, methods] of methodsByPath) if (!isBelowApi(url)) refuse(scope, url, methods);
  });
  app.register(async (scope) => {
    guard(scope);
    for (const [url, methods] of methodsByPath) if (isBelowApi(url)) refuse(scope, url, methods);
  });
}

function isBelowApi(url: string): boolean {
  return url.startsWith('/api/');
}

function refuse(scope: FastifyInstance, url: string, taken: readonly string[]): void {
  const refusal = (_request: FastifyRequest, reply: FastifyReply): never => {
    reply.header('allow', taken.join(', '));
    throw new SoukError('METHOD_NOT_ALLOWED', {
      message: `This address supports ${taken.join(' and ')} only.`,
    });
  };
  const method = METHODS.filter((name) => !taken.includes(name));
  // Replies before the body is read, so that an invalid body cannot hide the error of the method.
  scope.route({ method, url, onRequest: refusal, handler: refusal });
}
