import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { SoukError } from '../platform/errors.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];

/** Runs `registerRoutes`, then makes every path it has registered answer 405 to the methods it does not take. */
export function refusingOtherMethods(app: FastifyInstance, registerRoutes: () => void): void {
  const methodsByPath = new Map<string, string[]>();
  app.addHook('onRoute', ({ url, method }) => {
    methodsByPath.set(url, [...(methodsByPath.get(url) ?? []), ...[method].flat()]);
  });
  registerRoutes();
  for (const [url, taken] of [...methodsByPath]) {
    const refuse = (_request: FastifyRequest, reply: FastifyReply): never => {
      reply.header('allow', taken.join(', '));
      throw new SoukError('METHOD_NOT_ALLOWED', { message: `This address takes ${taken.join(' and ')}.` });
    };
    const method = METHODS.filter((name) => !taken.includes(name));
    // Before the body is read: whatever is wrong with it, the method comes first.
    app.route({ method, url, onRequest: refuse, handler: refuse });
  }
}
