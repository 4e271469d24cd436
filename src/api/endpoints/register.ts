import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify';
import { keepBodiesAsStreams } from '../plugins/body-parsing.ts';
import { scopesOfEndpoint } from '../scopes.ts';
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
    keepBodiesAsStreams(uploads);
    for (const endpoint of endpoints.filter(({ upload }) => upload))
      uploads.route({ ...routeOf(endpoint, deps), bodyLimit: UPLOAD_LIMIT_BYTES });
  });
}

function routeOf<Deps>(endpoint: Endpoint<Deps>, deps: Deps): RouteOptions {
  const { method, path, serve, upload, occupies } = endpoint;
  // A HEAD request for a stream would have to read the stream.
  const isStream = occupies === 'downloads' || occupies === 'streams';
  return {
    method: method.toUpperCase() as HTTPMethods,
    exposeHeadRoute: method === 'get' && !isStream,
    url: path.replace('{id}', ':id'),
    config: { occupies: upload ? 'uploads' : occupies, scopes: scopesOfEndpoint(endpoint) },
    handler: async (request, reply) => serve(deps, request, reply),
  };
}
