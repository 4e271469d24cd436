import { z } from 'zod';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import type { ErrorKind } from '../../../platform/errors.ts';
import { parametersOf } from '../parameters.ts';
import { queryParameters } from '../requests.ts';
import { COMMON_ERRORS, errorResponses } from '../responses.ts';
import {
  type MediaType,
  type Method,
  type OperationObject,
  operationIdOf,
  type ParameterObject,
  type Paths,
  type ResponseObject,
} from '../shape.ts';

/** An address that is no operation: it belongs to the service itself, is free, and has no contract. */
export interface Endpoint {
  method: Method;
  path: string;
  /** Name of the equivalent tool for agents. */
  tool?: string;
  /** Where it leads to calls that cost units, and takes neither dryRun nor maxUnits: who tells what they cost at most. */
  cost?: { toldBy: string; unitsOf(data: Record<string, unknown>): number };
  summary: string;
  description?: string;
  /** What `{id}` of the path is the id of. */
  idOf?: string;
  query?: z.ZodObject;
  body?: { description: string; content: Record<string, MediaType> };
  answers: Record<number, ResponseObject>;
  /** Besides those that every address below /api/ has. */
  errors?: readonly ErrorKind[];
  /** No key needed. */
  isPublic?: boolean;
}

/** A page of a list, the newest first. @param name of the schema. */
export function pageOf(name: string, field: string, entry: z.ZodType): z.ZodObject {
  const shape = {
    [field]: z.array(entry),
    nextCursor: z.string().nullable().describe('The cursor of the next page; null: this is the last'),
  };
  return z.object(shape).register(SCHEMA_NAMES, { id: name });
}

/** Endpoints as paths, under one tag. */
export function endpointPaths(tag: string, endpoints: readonly Endpoint[]): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: describe(tag, endpoint) };
  }
  return paths;
}

function describe(tag: string, endpoint: Endpoint): OperationObject {
  const { method, path, tool, summary, description, idOf, query, body, answers, isPublic = false } = endpoint;
  const parameters = [
    ...(idOf ? [idParameter(idOf)] : []),
    ...(query ? queryParameters(parametersOf(query)) : []),
  ];
  // A body that nothing asks for is read all the same.
  const badBody: ErrorKind[] = method === 'get' ? [] : ['UNSUPPORTED_MEDIA_TYPE'];
  const errors = isPublic ? [] : [...COMMON_ERRORS, ...badBody];
  return {
    operationId: operationIdOf(method, path),
    tags: [tag],
    summary,
    description: `${description ?? summary} Free.`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, ...body } } : {}),
    responses: { ...answers, ...errorResponses([...errors, ...(endpoint.errors ?? [])]) },
    ...(isPublic ? { security: [] as const } : {}),
    'x-units': '0',
    ...(tool ? { 'x-tool': tool } : {}),
  };
}

function idParameter(of: string): ParameterObject {
  const example = '019b2c3d-4e5f-7a6b-8c7d-9e0f1a2b3c4d';
  return {
    name: 'id',
    in: 'path',
    required: true,
    description: `Id of ${of}`,
    schema: { type: 'string', format: 'uuid', maxLength: 36 },
    example,
  };
}
