import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify';
import { keepBodiesAsText } from '../plugins/body-parsing.ts';
import { UPLOAD_LIMIT_BYTES } from '../uploads.ts';
import type { Endpoint } from './endpoint.ts';

/** Registers the routes of endpoints. */
export function registerEndpoints<Deps>(
  scope: FastifyInstance,
  endpoints: readonly Endpoint<Deps>[],
  deps: Deps,
): void {
  for (const endpoint of endpoints.filter(({ upload }) => !upload)) scope.route(routeOf(endpoint, deps));
  scope.register(async (uploads) => {
    keepBodiesAsText(uploads);
    for (const endpoint of endpoints.filter(({ upload }) => upload))
      uploads.route({ ...routeOf(endpoint, deps), bodyLimit: UPLOAD_LIMIT_BYTES });
  });
}

function routeOf<Deps>({ method, path, serve }: Endpoint<Deps>, deps: Deps): RouteOptions {
  return {
    method: method.toUpperCase() as HTTPMethods,
    url: path.replace('{id}', ':id'),
    handler: async (request, reply) => serve(deps, request, reply),
  };
}
