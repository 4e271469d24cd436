import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, RouteOptions } from 'fastify';
import type { z } from 'zod';
import type { Scope } from '../../accounts/key-settings.ts';
import { DOCUMENT_LIMIT_BYTES } from '../../batches/schedules/read-schedule.ts';
import type { AccountAction } from '../../operator/account-audit.ts';
import { type ErrorKind, SoukError } from '../../platform/errors.ts';
import { isUuid } from '../ids.ts';
import type { Occupies } from '../limits/limits.ts';
import type { MediaType, Method, ResponseObject } from '../openapi/schemas.ts';
import { parseAs } from '../operations/call-options.ts';
import { type Account, accountOf, scopesOfEndpoint } from '../plugins/authentication.ts';
import { keepBodies } from '../plugins/body-parsing.ts';
import { UPLOAD_LIMIT_BYTES } from '../uploads.ts';

/**
 * An address that is not an operation: it belongs to the service itself, and is free. Its declaration yields the route, its
 * path in the OpenAPI document, and its tool for agents.
 */
export interface Endpoint<Deps> extends EndpointDescription {
  /** Parses the request and runs the handler. */
  serve: (deps: Deps, request: FastifyRequest, reply: FastifyReply) => unknown;
}

export interface EndpointDescription {
  /** Group of endpoints in the document; also the toolset of the tool. */
  tag: string;
  method: Method;
  /** Contains `{id}` if it names one resource. */
  path: string;
  summary: string;
  /** Default: the summary. */
  description?: string;
  /** Name of the equivalent tool for agents. */
  tool?: string;
  /** The resource whose progress the tool reports, if its caller requests progress. */
  follows?: 'job' | 'batch';
  /** The endpoint itself is free, but starts calls that cost their usual units. */
  startsCalls?: true;
  /** The address that shows the price of the calls, for an endpoint that starts calls and has neither dryRun nor maxUnits. */
  cost?: { shownBy: string; unitsOf(data: Record<string, unknown>): number };
  id?: IdParameter;
  query?: z.ZodObject;
  /** Further query parameters that apply to one kind of body; the handler parses them. */
  uploadQuery?: z.ZodObject;
  /** Parsed before the handler. */
  body?: BodyDescription;
  /** A body of at most `DOCUMENT_LIMIT_BYTES`, which the handler parses a piece at a time. */
  document?: BodyDescription;
  /** A large body, which the handler passes on as a stream for a worker to parse. */
  upload?: BodyDescription;
  answers: Record<number, ResponseObject>;
  /** Further errors than those that every address below /api/ can return. */
  errors?: readonly ErrorKind[];
  /** The limited resource that a request occupies until it is answered. Default: `waiting`, or `uploads` with `document` or `upload`. */
  occupies?: Occupies;
  /** A key needs one of these scopes. Default: see `scopesOfEndpoint`. */
  scopes?: readonly Scope[];
  /** The action of its line in the audit log; null for a method other than GET that changes nothing, or makes a call. */
  act?: AccountAction | null;
  /** Needs no key. */
  isPublic?: boolean;
  /** Omits the endpoint from the document, because it is not for customers. */
  isHidden?: boolean;
}

/** The parameter `{id}` of a path. */
export interface IdParameter {
  /** The resource that the id names, such as "the job". */
  of: string;
  /** The error for a malformed id. */
  unknown: ErrorKind;
  /** True for ids that are numbers; the others are UUIDs. */
  isNumber?: true;
}

export interface BodyDescription<Schema extends z.ZodType = z.ZodType> {
  description: string;
  /** Schema of the JSON document. */
  schema: Schema;
  example: unknown;
  /** Other bodies that the endpoint accepts, by media type. */
  otherContent?: Record<string, MediaType>;
}

/** The parsed request that a handler receives. */
export interface EndpointCall<Path, Query, Body> {
  account: Account;
  id: Path extends `${string}{id}${string}` ? string : null;
  query: Query;
  body: Body;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** An endpoint that needs a key. It must be registered in a scope that requires an account. */
export function endpoint<
  Deps,
  const Path extends string,
  Query extends z.ZodObject = z.ZodObject<Record<never, never>>,
  Body extends z.ZodType = z.ZodUndefined,
>({
  handle,
  ...description
}: Omit<EndpointDescription, 'isPublic'> & {
  path: Path;
  query?: Query;
  body?: BodyDescription<Body>;
  handle: (deps: Deps, call: EndpointCall<Path, z.output<Query>, z.output<Body>>) => Promise<FastifyReply>;
}): Endpoint<Deps> {
  const { id, query, body } = description;
  return {
    ...description,
    serve: (deps, request, reply) => {
      const call = {
        account: accountOf(request),
        query: query ? parseAs(query, request.query) : {},
        body: body ? parseAs(body.schema, request.body) : undefined,
        id: id ? readId(id, request) : null,
        request,
        reply,
      };
      return handle(deps, call as EndpointCall<Path, z.output<Query>, z.output<Body>>);
    },
  };
}

/** An endpoint that needs no key, and whose answers have no envelope. */
export function publicEndpoint<Deps>({
  handle,
  ...description
}: Omit<EndpointDescription, 'isPublic'> & { handle: Endpoint<Deps>['serve'] }): Endpoint<Deps> {
  return { ...description, isPublic: true, serve: handle };
}

/** The dependencies of all endpoints of a list. */
export type DepsOf<Endpoints> = Endpoints extends readonly Endpoint<infer Deps>[] ? Deps : never;

function readId({ unknown, isNumber }: IdParameter, { params }: FastifyRequest): string {
  const { id } = params as { id: string };
  if (isNumber ? /^[1-9]\d{0,14}$/.test(id) : isUuid(id)) return id.toLowerCase();
  throw new SoukError(unknown);
}

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
  const { method, path, serve, query, document, upload, occupies, act, isPublic } = endpoint;
  if (method !== 'get' && !isPublic && act === undefined)
    throw new Error(`${method} ${path} needs the action of its line in the audit log, or null`);
  // A HEAD request for a stream would have to read the stream.
  const isStream = occupies === 'downloads' || occupies === 'streams';
  return {
    method: method.toUpperCase() as HTTPMethods,
    exposeHeadRoute: method === 'get' && !isStream,
    url: path.replace('{id}', ':id'),
    config: {
      occupies: document || upload ? 'uploads' : occupies,
      scopes: scopesOfEndpoint(endpoint),
      act,
      hasDryRun: query !== undefined && 'dryRun' in query.shape,
    },
    handler: async (request, reply) => serve(deps, request, reply),
  };
}
