import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SoukError } from '../../platform/errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** Registers routes whose paths answer 405 to the methods that no route of `registerRoutes` takes. */
export function refusingOtherMethods(
  app: FastifyInstance,
  registerRoutes: (scope: FastifyInstance) => void,
): void {
  const methodsByPath = new Map<string, string[]>();
  app.register(async (scope) => {
    scope.addHook('onRoute', ({ url, method }) => {
      methodsByPath.set(url, [...(methodsByPath.get(url) ?? []), ...[method].flat()]);
    });
    registerRoutes(scope);
  });
  // Loaded when the routes above are registered, those of nested scopes too.
  app.register(async (scope) => {
    for (const [url, methods] of methodsByPath) refuse(scope, url, methods);
  });
}

function refuse(scope: FastifyInstance, url: string, taken: readonly string[]): void {
  const refusal = (_request: FastifyRequest, reply: FastifyReply): never => {
    reply.header('allow', taken.join(', '));
    throw new SoukError('METHOD_NOT_ALLOWED', { message: `This address takes ${taken.join(' and ')}.` });
  };
  const method = METHODS.filter((name) => !taken.includes(name));
  // Before the body is read: the method comes first, whatever is wrong with the body.
  scope.route({ method, url, onRequest: refusal, handler: refusal });
}
