import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../operations/define.ts';
import { LOCAL, QUEUED } from '../operations/index.ts';
import { invalidParameters } from '../platform/errors.ts';
import type { Gateway } from './gateway.ts';
import { keyHashOf, orKeyError } from './request-input.ts';
import { serveLocal } from './serve-local.ts';
import { serveQueued } from './serve-queued.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The error a body that is not JSON gets. */
    invalidJsonKind?: Route['invalidJsonKind'];
    /** The body is not parsed here: a worker reads it. */
    unparsedBody?: boolean;
  }
}

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Every route of every operation, as declared. */
export function registerOperations(app: FastifyInstance, gateway: Gateway): void {
  const shared = new Map<string, Map<string, Serve>>();
  const register = (route: Route, serve: Serve) => {
    const { method, path: url, type, invalidJsonKind } = route;
    const config = { invalidJsonKind };
    if (type === undefined) {
      app.route({ method, url, handler: serve, config });
      return;
    }
    const address = `${method} ${url}`;
    const byType = shared.get(address) ?? new Map<string, Serve>();
    if (byType.size === 0) app.route({ method, url, handler: fanOut(gateway, byType), config });
    shared.set(address, byType.set(type, serve));
  };
  for (const operation of QUEUED) {
    for (const route of operation.routes) register(route, serveQueued(gateway, operation, route));
  }
  for (const operation of LOCAL) {
    for (const route of operation.routes) register(route, serveLocal(gateway, operation, route));
  }
}

/** Serves a path that several operations share, by its query parameter `type`; the first where it is absent. */
function fanOut(gateway: Gateway, byType: ReadonlyMap<string, Serve>): Serve {
  return async (request, reply) => {
    const types = [...byType.keys()];
    const { type = types[0] } = request.query as Record<string, unknown>;
    const serve = byType.get(String(type));
    if (serve) return serve(request, reply);
    return orKeyError(gateway, keyHashOf(gateway, request), () => {
      throw invalidParameters([{ parameter: 'type', problem: `must be one of ${types.join(', ')}` }]);
    });
  };
}
