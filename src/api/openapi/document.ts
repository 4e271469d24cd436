import { readFileSync } from 'node:fs';
import { ERRORS } from '../../platform/errors.ts';
import { projectFile } from '../../platform/project.ts';
import { ENDPOINTS } from '../endpoints/index.ts';
import { OPTION_PARAMETERS } from './call-options.ts';
import { endpointPaths } from './endpoints.ts';
import { operationPaths, parameterObjects, UNFINISHED_RESPONSE } from './operations.ts';
import { componentResponses, ERROR_METADATA, HEADERS } from './responses.ts';
import { componentSchemas, withFormats } from './schemas.ts';

const DESCRIPTION = `Data about products, categories, sellers, deals, search trends and search terms of a retail marketplace.

Every JSON answer of \`/api\` is an envelope with \`code\`, \`msg\` and \`data\`. \`code\` is \`0000\` on success, and an error code
otherwise. In a query, booleans are true, false, 1 or 0; the items of a list are separated by commas, or the parameter is
repeated. Unknown query parameters are ignored.

Prices are in cents (on the Japanese site in whole yen), ratings are stars x 10, and -1 means no data.

A 200 is the answer of a call. \`POST /api/jobs/quote\` returns the price of a call, and \`POST /api/jobs\` makes it a job. The
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
  keys: 'API keys of the account, for keys with the scope keys',
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
      version: versionOf(),
      description: DESCRIPTION,
      contact: { name: 'The operator of this service' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [
      { url: '/', description: 'The service that serves this document, in production', 'x-internal': false },
    ],
    tags: [...used].map((name) => ({ name, description: TAGS[name] ?? name })),
    // Any one of the three places suffices.
    security: [{ keyHeader: [] }, { bearer: [] }, { keyParameter: [] }],
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

function versionOf(): string {
  const text = readFileSync(projectFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
