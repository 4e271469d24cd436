import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { OPERATION_SCOPES, type Scope } from '../../accounts/key-settings.ts';
import type { Route } from '../../operations/define.ts';
import { type LOCAL, QUEUED } from '../../operations/index.ts';
import { wordProblem } from '../../operations/params/scalars.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { scopesOfOperation } from '../plugins/authentication.ts';
import { type LocalDeps, serveLocal } from './serve-local.ts';
import { type QueuedDeps, serveQueued } from './serve-queued.ts';

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Registers every route of every queued operation. The scope must require a key; admission checks the key. */
export function registerQueuedOperations(scope: FastifyInstance, deps: QueuedDeps): void {
  const shared = new Map<string, Map<string, Serve>>();
  for (const operation of QUEUED) {
    for (const route of operation.routes) {
      const serve = serveQueued(deps, operation, route);
      if (route.type === undefined) {
        addRoute(scope, route, serve, { scopes: scopesOfOperation(operation) });
        continue;
      }
      const address = `${route.method} ${route.path}`;
      const byType = shared.get(address) ?? new Map<string, Serve>();
      // Each operation requires its own scope, too.
      if (byType.size === 0) addRoute(scope, route, serveByType(byType), { scopes: OPERATION_SCOPES });
      shared.set(address, byType.set(route.type, serve));
    }
  }
}

/** Registers every route of some local operations. The scope must require an account. */
export function registerLocalOperations(
  scope: FastifyInstance,
  deps: LocalDeps,
  operations: typeof LOCAL,
): void {
  for (const operation of operations)
    for (const route of operation.routes)
      addRoute(scope, route, serveLocal(deps, operation, route), {
        exposeHeadRoute: route.method === 'GET',
        scopes: scopesOfOperation(operation),
      });
}

function addRoute(
  scope: FastifyInstance,
  { method, path: url, invalidJsonKind }: Route,
  handler: Serve,
  // A HEAD request for a call would cost units and return no answer.
  { exposeHeadRoute = false, scopes }: { exposeHeadRoute?: boolean; scopes: readonly Scope[] },
): void {
  scope.route({ method, url, handler, exposeHeadRoute, config: { invalidJsonKind, scopes } });
}

/** Serves a path that several operations share. The query parameter `type` selects one; default: the first. */
function serveByType(byType: ReadonlyMap<string, Serve>): Serve {
  return async (request, reply) => {
    const types = [...byType.keys()];
    const { type = types[0] } = request.query as Record<string, unknown>;
    const serve = byType.get(String(type));
    if (serve) return serve(request, reply);
    throw invalidParameters([{ parameter: 'type', problem: wordProblem(types).error({ input: type }) }]);
  };
}
