import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify';
import { DOCUMENT_LIMIT_BYTES } from '../../batches/schedules/read-schedule.ts';
import { scopesOfEndpoint } from '../plugins/authentication.ts';
import { keepBodies } from '../plugins/body-parsing.ts';
import { UPLOAD_LIMIT_BYTES } from '../uploads.ts';
import type { Endpoint } from './endpoint.ts';

/** Registers the routes of endpoints. */
export function registerEndpoints<Deps>(
  scope: FastifyInstance,
  endpoints: readonly Endpoint<Deps>[],
  deps: Deps,
): void {
  const parsed = endpoints.filter(({ document, upload }) => !document && !upload);
  for (const endpoint of parsed) scope.route(routeOf(endpoint, deps));
  scope.register(async (documents) => {
    keepBodies(documents, 'bytes');
    for (const endpoint of endpoints.filter(({ document }) => document))
      documents.route({ ...routeOf(endpoint, deps), bodyLimit: DOCUMENT_LIMIT_BYTES });
  });
  scope.register(async (uploads) => {
    keepBodies(uploads, 'stream');
    for (const endpoint of endpoints.filter(({ upload }) => upload))
      uploads.route({ ...routeOf(endpoint, deps), bodyLimit: UPLOAD_LIMIT_BYTES });
  });
}

function routeOf<Deps>(endpoint: Endpoint<Deps>, deps: Deps): RouteOptions {
  const { method, path, serve, document, upload, occupies, act, isPublic } = endpoint;
  if (method !== 'get' && !isPublic && act === undefined)
    throw new Error(`${method} ${path} needs the action of its line in the audit log, or null`);
  // A HEAD request for a stream would have to read the stream.
  const isStream = occupies === 'downloads' || occupies === 'streams';
  return {
    method: method.toUpperCase() as HTTPMethods,
    exposeHeadRoute: method === 'get' && !isStream,
    url: path.replace('{id}', ':id'),
    config: { occupies: document || upload ? 'uploads' : occupies, scopes: scopesOfEndpoint(endpoint), act },
    handler: async (request, reply) => serve(deps, request, reply),
  };
}
