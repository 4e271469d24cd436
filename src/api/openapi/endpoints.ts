import type { ErrorKind } from '../../platform/errors.ts';
import type { BodyDescription, EndpointDescription, IdParameter } from '../endpoints/endpoint.ts';
import { EXAMPLE_ID } from '../ids.ts';
import { operationIdOf } from './operation-ids.ts';
import { parametersOf } from './parameters.ts';
import { queryParameters } from './requests.ts';
import { COMMON_ERRORS, errorResponses } from './responses.ts';
import { bodySchemaOf } from './schemas.ts';
import type { OperationObject, ParameterObject, Paths, RequestBodyObject } from './shape.ts';

/** The paths of endpoints, from their declarations. */
export function endpointPaths(endpoints: readonly EndpointDescription[]): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints.filter(({ isHidden }) => !isHidden)) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: describe(endpoint) };
  }
  return paths;
}

function describe(endpoint: EndpointDescription): OperationObject {
  const { method, path, tag, tool, summary, description, id, answers, isPublic = false } = endpoint;
  const { query, uploadQuery, body = endpoint.upload, startsCalls } = endpoint;
  const parameters = [
    ...(id ? [idParameter(id)] : []),
    // A quote has an address of its own in the document, because its answer differs.
    ...[query, uploadQuery]
      .flatMap((schema) => (schema ? queryParameters(parametersOf(schema)) : []))
      .filter(({ name }) => name !== 'dryRun'),
  ];
  return {
    operationId: operationIdOf(method, path),
    tags: [tag],
    summary,
    description: `${description ?? summary} ${startsCalls ? 'Free; the calls that it starts cost their usual units.' : 'Free.'}`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: requestBodyOf(body) } : {}),
    responses: { ...answers, ...errorResponses(errorsOf(endpoint)) },
    ...(isPublic ? { security: [] as const } : {}),
    'x-units': '0',
    ...(tool ? { 'x-tool': tool } : {}),
  };
}

function requestBodyOf({ description, schema, example, otherContent }: BodyDescription): RequestBodyObject {
  const json = { schema: bodySchemaOf(schema), example };
  return { required: true, description, content: { 'application/json': json, ...otherContent } };
}

function errorsOf({ method, id, errors = [], isPublic }: EndpointDescription): ErrorKind[] {
  const own = [...(id ? [id.unknown] : []), ...errors];
  if (isPublic) return own;
  // A body is read even if the endpoint does not use it.
  return [...COMMON_ERRORS, ...(method === 'get' ? [] : (['UNSUPPORTED_MEDIA_TYPE'] as const)), ...own];
}

function idParameter({ of, isNumber }: IdParameter): ParameterObject {
  const named = { name: 'id', in: 'path', required: true, description: `Id of ${of}` } as const;
  return isNumber
    ? {
        ...named,
        schema: { type: 'integer', format: 'int64', minimum: 1, maximum: 999_999_999_999_999 },
        example: 42,
      }
    : { ...named, schema: { type: 'string', format: 'uuid', maxLength: 36 }, example: EXAMPLE_ID };
}
