import { SCOPE_TEXTS } from '../../accounts/key-settings.ts';
import { ERRORS, type ErrorKind } from '../../platform/errors.ts';
import { packageVersion } from '../../platform/project.ts';
import { CONNECT_ROUTES, CONNECTION_SCOPES } from '../connect/provider.ts';
import type { BodyDescription, EndpointDescription, IdParameter } from '../endpoints/endpoint.ts';
import { ENDPOINTS } from '../endpoints/index.ts';
import { EXAMPLE_ID } from '../ids.ts';
import { operationIdOf } from './operation-ids.ts';
import { operationPaths, parameterObjects, UNFINISHED_RESPONSE } from './operations.ts';
import { OPTION_PARAMETERS, parametersOf, queryParameters } from './parameters.ts';
import { COMMON_ERRORS, componentResponses, ERROR_METADATA, errorResponses, HEADERS } from './responses.ts';
import {
  bodySchemaOf,
  componentSchemas,
  type OperationObject,
  type ParameterObject,
  type Paths,
  type RequestBodyObject,
  withFormats,
} from './schemas.ts';

/** The paths of endpoints, from their declarations. */
function endpointPaths(endpoints: readonly EndpointDescription[]): Paths {
  const paths: Paths = {};
  for (const endpoint of endpoints.filter(({ isHidden }) => !isHidden)) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: describe(endpoint) };
  }
  return paths;
}

function describe(endpoint: EndpointDescription): OperationObject {
  const { method, path, tag, tool, summary, description, id, answers, isPublic = false } = endpoint;
  const { query, uploadQuery, document, upload, body = document ?? upload, startsCalls } = endpoint;
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

const DESCRIPTION = `Data about products, categories, sellers, deals, search trends and search terms of a retail marketplace.

Every JSON answer of \`/api\` is an envelope with \`code\`, \`msg\` and \`data\`. \`code\` is \`0000\` on success, and an error code
otherwise. In a query, booleans are true, false, 1 or 0; the items of a list are separated by commas, or the parameter is
repeated. Unknown query parameters are ignored.

Prices are in cents (on the Japanese site in whole yen), ratings are stars x 10, and -1 means no data.

The answer of a call has the status 200. \`POST /api/jobs/quote\` returns the price of a call, and \`POST /api/jobs\` makes it a job. The
addresses of operations accept the same as \`dryRun=1\`, which returns the price with 200, and as \`async=1\`,
\`Prefer: respond-async\` or \`Prefer: wait=N\` (RFC 7240), which return the job with 202. A call that does not end within the
time that a request waits returns 202, too: its body has the code \`ACCEPTED\` and the job.

Calls cost units. \`x-units\` is the price of a call; \`x-pool\` and \`x-timeout-seconds\` are the worker pools that can run it and
their time limits. \`x-tool\` is the name of the equivalent MCP tool.

\`x-errors\` lists all errors. An unknown address returns 404 \`NOT_FOUND\`; an unsupported method returns 405
\`METHOD_NOT_ALLOWED\`; a request that does not arrive in time gets 408 \`REQUEST_TIMEOUT\`, and an
address from which too many unknown keys or wrong tokens came gets 429 \`TOO_MANY_ATTEMPTS\`.`;

const TAGS: Record<string, string> = {
  account: 'The quota of the account',
  billing: 'Units that the account has used, and every movement of units',
  market: 'Products, categories, sellers, deals and price charts of the marketplace',
  retail: 'Addresses of product images',
  trends: 'Search interest over time and by region, related searches, and trending searches',
  aba: 'Brand analytics: weekly ranks of search terms, their histories, and the most-clicked products',
  research: 'Joined answers about keywords and products, whose figures state source, date and formula',
  keys: 'API keys of the account, for keys with the scope keys',
  audit: 'What people and keys did in the account, for keys with the scope keys',
  jobs: 'Status, results and cancellation of calls',
  batches: 'One operation for many items, run in the background',
  schedules: 'Batches that run at regular times',
  trackers: 'Conditions on products and keywords, and the alerts when they become true',
  webhooks: 'The signing secret and the delivery log of webhooks',
  service: 'This document and health checks; no key needed',
};

/** Creates the OpenAPI 3.1 document from the contracts of operations and the declarations of endpoints. */
export function openApiDocument() {
  const paths = { ...operationPaths(), ...endpointPaths(ENDPOINTS) };
  const used = new Set(
    Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Souk',
      version: packageVersion(),
      description: DESCRIPTION,
      contact: { name: 'The operator of this service' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [
      { url: '/', description: 'The service that serves this document, in production', 'x-internal': false },
    ],
    tags: [...used].map((name) => ({ name, description: TAGS[name] ?? name })),
    // Any one of the three places of a key suffices, or the token of a connection.
    security: [{ keyHeader: [] }, { bearer: [] }, { keyParameter: [] }, { oauth: [] }],
    paths,
    components: {
      securitySchemes: {
        keyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The API key' },
        keyParameter: {
          type: 'apiKey',
          in: 'query',
          name: 'key',
          description: 'The API key. A request with different keys in several places is refused',
        },
        oauth: {
          type: 'oauth2',
          description:
            'The access token of a connection, which a person has allowed. `/.well-known/oauth-authorization-server` describes the ' +
            'server: programs register there or by a client id metadata document, with PKCE (S256) and without a secret. Tokens are opaque: ' +
            'they are no JSON Web Tokens, to which RFC8725 applies',
          flows: {
            authorizationCode: {
              authorizationUrl: CONNECT_ROUTES.authorization,
              tokenUrl: CONNECT_ROUTES.token,
              refreshUrl: CONNECT_ROUTES.token,
              scopes: Object.fromEntries(CONNECTION_SCOPES.map((scope) => [scope, SCOPE_TEXTS[scope]])),
            },
          },
        },
      },
      parameters: OPTION_PARAMETERS,
      headers: HEADERS,
      responses: { ...componentResponses(paths), ...UNFINISHED_RESPONSE },
      schemas: {
        ...componentSchemas(),
        ...parameterObjects(),
        ErrorMetadata: withFormats(ERROR_METADATA),
      },
    },
    'x-errors': Object.values(ERRORS),
  };
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;
