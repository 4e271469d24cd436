import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ErrorKind } from '../../platform/errors.ts';
import { SoukError } from '../../platform/errors.ts';
import { isUuid } from '../ids.ts';
import type { Occupied } from '../limits/open-requests.ts';
import type { MediaType, Method, ResponseObject } from '../openapi/shape.ts';
import { type Account, accountOf } from '../plugins/authentication.ts';
import { parseAs } from '../request-input.ts';

/**
 * An address that is no operation: it belongs to the service itself, and is free. From its declaration come the route, its
 * path of the OpenAPI document, and its tool for agents.
 */
export interface Endpoint<Deps> extends EndpointDescription {
  /** Parses the request and runs the handler. */
  serve: (deps: Deps, request: FastifyRequest, reply: FastifyReply) => unknown;
}

export interface EndpointDescription {
  /** Group of endpoints in the document; also the toolset of the tool. */
  tag: string;
  method: Method;
  /** With `{id}` where it names one thing. */
  path: string;
  summary: string;
  /** Default: the summary. */
  description?: string;
  /** Name of the equivalent tool for agents. */
  tool?: string;
  /** What the tool reports progress of, when its caller asks for progress. */
  follows?: 'job' | 'batch';
  /** For an endpoint that starts calls that cost units, and takes neither dryRun nor maxUnits: where their price is found. */
  cost?: { toldBy: string; unitsOf(data: Record<string, unknown>): number };
  id?: IdParameter;
  query?: z.ZodObject;
  /** Query parameters beside `query` that go with one kind of body; the handler parses them. */
  uploadQuery?: z.ZodObject;
  /** Parsed before the handler. */
  body?: BodyDescription;
  /** A large body, which the handler passes on as a stream for a worker to parse. */
  upload?: BodyDescription;
  answers: Record<number, ResponseObject>;
  /** Besides those that every address below /api/ has. */
  errors?: readonly ErrorKind[];
  /** What a request occupies until it is answered, by which it is limited. Default: `waiting`, or `uploads` with `upload`. */
  occupies?: Occupied;
  /** No key needed. */
  isPublic?: boolean;
  /** For other systems than customers': not in the document. */
  isHidden?: boolean;
}

/** The parameter `{id}` of a path. */
export interface IdParameter {
  /** What it is the id of. */
  of: string;
  /** The error for an id that cannot be one. */
  unknown: ErrorKind;
}

export interface BodyDescription<Schema extends z.ZodType = z.ZodType> {
  description: string;
  /** Of the JSON document. */
  schema: Schema;
  example: unknown;
  /** What else the endpoint takes, by media type. */
  otherContent?: Record<string, MediaType>;
}

/** What a handler starts with. */
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

/** An endpoint that needs no key, and whose answers are in no envelope. */
export function publicEndpoint<Deps>({
  handle,
  ...description
}: Omit<EndpointDescription, 'isPublic'> & { handle: Endpoint<Deps>['serve'] }): Endpoint<Deps> {
  return { ...description, isPublic: true, serve: handle };
}

/** What all endpoints of a list need. */
export type DepsOf<Endpoints> = Endpoints extends readonly Endpoint<infer Deps>[] ? Deps : never;

function readId({ unknown }: IdParameter, { params }: FastifyRequest): string {
  const { id } = params as { id: string };
  if (isUuid(id)) return id;
  throw new SoukError(unknown);
}
