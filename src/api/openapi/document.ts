import { readFileSync } from 'node:fs';
import { ERRORS } from '../../platform/errors.ts';
import { ENDPOINTS } from '../endpoints/index.ts';
import { OPTION_PARAMETERS } from './call-options.ts';
import { endpointPaths } from './endpoints.ts';
import { operationPaths, parameterObjects } from './operations.ts';
import { componentResponses, ERROR_METADATA, HEADERS } from './responses.ts';
import { componentSchemas, withFormats } from './schemas.ts';

const DESCRIPTION = `Retail-marketplace data over HTTP, with keys, units, a result cache, jobs, batches and schedules.

Answers are envelopes with \`code\`, \`msg\` and \`data\`; \`code\` is \`0000\` on success. In a query booleans are true, false,
1 or 0; lists are separated by commas or repeated. Prices are in cents (for JP in whole yen), ratings are stars x 10,
-1 means no data. Unknown query parameters are ignored. \`x-errors\` lists every error. An unknown address answers 404
\`NOT_FOUND\`, a method that an address does not support 405 \`METHOD_NOT_ALLOWED\`, and a request that does not arrive in
time 408 \`REQUEST_TIMEOUT\`. \`x-units\` is the price of a call,
\`x-pool\` and \`x-timeout-seconds\` say where it is done and how long that may take, \`x-tool\` names the equivalent tool.`;

const TAGS: Record<string, string> = {
  account: 'Quota of the account',
  market: 'Products, categories, sellers, deals and charts of the marketplace',
  retail: 'Addresses of product images',
  trends: 'What is searched for, where and when',
  aba: 'Search terms of brand analytics: weekly ranks, histories, products clicked most',
  jobs: 'Calls as jobs: how they go, what they brought, their end',
  batches: 'Many items of one operation, done in the background',
  schedules: 'Batches that come again and again',
  webhooks: 'The signing secret and the log of deliveries',
  service: 'What needs no key',
};

/** The whole interface as OpenAPI 3.1, from the contracts and from what stands beside the other routes. */
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
    },
    servers: [{ url: '/', description: 'This installation, production', 'x-internal': false }],
    tags: [...used].map((name) => ({ name, description: TAGS[name] ?? name })),
    // One of the three places is enough.
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
          description: 'The API key. Different keys in several places are refused',
        },
      },
      parameters: OPTION_PARAMETERS,
      headers: HEADERS,
      responses: componentResponses(paths),
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
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
