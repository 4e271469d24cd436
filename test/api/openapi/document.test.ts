import { describe, expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { OperationObject } from '../../../src/api/openapi/schemas.ts';
import { OPERATIONS } from '../../../src/operations/index.ts';
import type { JsonSchema } from '../../../src/operations/params/request.ts';
import { ERRORS } from '../../../src/platform/errors.ts';
import { servedPaths } from '../../support/routes.ts';
import { test } from '../../support/souk-test.ts';

const document = openApiDocument();

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    method,
    operation: operation as OperationObject,
  })),
);

test.override('soukOptions', { workers: 0 });

describe('the document and the service', () => {
  test('have the same paths', ({ souk }) => {
    // The document excludes pages, the operator's tools, links to results, /mcp and the authorization server, whose protocols describe themselves.
    const paths = servedPaths(souk.gateways[0]?.app).map(({ path }) => path.replace(/:(\w+)/g, '{$1}'));
    const served = paths.filter(
      (path) =>
        path !== '/' &&
        !/^\/(\.well-known|oauth|connect|device|metrics$|api\/operator\/|mcp$|admin|account|announcements|assets|charts|confirm-email|docs|explore|files|forgot-password|invitation|llms\.txt|payments|pricing|profile|reset-password|sign-|status|unsubscribe)/.test(
          path,
        ),
    );
    expect(served.length).toBeGreaterThan(30);
    expect(served.sort()).toEqual(Object.keys(document.paths).sort());
  });

  test.for(Object.entries(document.paths))(
    'accept the same methods at %s',
    async ([path, item], { client }) => {
      const { status, headers } = await client.get(path.replace(/\{\w+\}/, 'x'), { method: 'OPTIONS' });
      expect(status).toBe(405);
      // HEAD is not documented: it is GET without a body.
      const allowed = headers.allow
        ?.toLowerCase()
        .split(', ')
        .filter((method) => method !== 'head');
      expect(allowed?.sort()).toEqual(Object.keys(item).sort());
    },
  );

  test('require a key for the same paths', async ({ client }) => {
    for (const { path, method, operation } of operations.filter((one) => one.method === 'get')) {
      const { status } = await client.raw(path.replace(/\{\w+\}/, 'x'), { method: method.toUpperCase() });
      expect({ path, status }).toEqual({ path, status: operation.security ? 200 : 401 });
    }
  });
});

test('three paths need no key, and a key has three places', () => {
  const open = operations.filter(({ operation }) => operation.security).map(({ path }) => path);
  expect(open.sort()).toEqual(['/healthz', '/openapi.json', '/readyz']);
  expect(document.security.flatMap((one) => Object.keys(one))).toEqual(
    Object.keys(document.components.securitySchemes),
  );
  expect(document.components.securitySchemes).toMatchObject({
    keyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    bearer: { type: 'http', scheme: 'bearer' },
    keyParameter: { type: 'apiKey', in: 'query', name: 'key' },
    oauth: {
      type: 'oauth2',
      flows: { authorizationCode: { tokenUrl: '/oauth/token', scopes: { read: expect.any(String) } } },
    },
  });
});

test('has every route of every contract, with price, pools, timeouts and tool', () => {
  for (const contract of OPERATIONS) {
    for (const { method, path } of contract.routes) {
      const found = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method === 'GET' ? 'get' : 'post'];
      expect([found?.['x-operation']].flat()).toContain(contract.name);
      expect([found?.['x-units']].flat()).toContain(contract.kind === 'queued' ? contract.price.text : '0');
      expect([found?.['x-tool']].flat()).toContain(contract.tool);
    }
  }
  expect(document.paths['/api/market/lightningdeal']?.get).toMatchObject({
    'x-pool': ['market', 'lightning'],
    'x-timeout-seconds': [60, 120],
  });
  expect(document.paths['/api/market/bestsellers']?.get?.['x-alias-of']).toBe('/api/market/bestseller');
});

test('the list of errors, the document and its responses have the same codes', () => {
  expect(document['x-errors']).toEqual(Object.values(ERRORS));
  const codes = Object.values(document.components.responses).flatMap(({ content }) => {
    const schema = content?.['application/json']?.schema as JsonSchema | undefined;
    const code = schema?.properties?.code as JsonSchema | undefined;
    return (code?.enum ?? []) as string[];
  });
  // These are not errors of an operation: the description says where they occur.
  const anywhere = (['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'REQUEST_TIMEOUT', 'TOO_MANY_ATTEMPTS'] as const).map(
    (kind) => ERRORS[kind].code,
  );
  for (const code of anywhere) expect(document.info.description).toContain(`\`${code}\``);
  const listed = Object.values(ERRORS).map(({ code }) => code);
  expect([...new Set([...codes, ...anywhere])].sort()).toEqual([...listed].sort());
});

test('an error response has an example and the text of each of its errors', () => {
  const { UnfinishedCall: _, ...errors } = document.components.responses;
  for (const [name, { description, content }] of Object.entries(errors)) {
    const examples = Object.entries(content?.['application/json']?.examples ?? {});
    expect(examples.length, name).toBeGreaterThan(0);
    for (const [kind, { value }] of examples) {
      const { code, text } = ERRORS[kind as keyof typeof ERRORS];
      expect(value).toEqual({ code, msg: text, data: null });
      expect(description).toContain(text);
    }
  }
});

test('every parameter has a description, a schema and an example', () => {
  for (const { path, operation } of operations) {
    for (const parameter of operation.parameters ?? []) {
      const stated =
        '$ref' in parameter
          ? document.components.parameters[parameter.$ref.split('/').at(-1) ?? '']
          : parameter;
      const place = `${path} ${stated?.name}`;
      expect(stated?.description, place).toMatch(/\S/);
      expect(stated?.schema, place).toBeDefined();
      expect(stated?.example, place).toBeDefined();
    }
  }
});

test('a date range is an object in a body and two parameters in a query', () => {
  const item = document.paths['/api/market/product'];
  const inQuery = item?.get?.parameters?.flatMap((one) => ('name' in one ? one.name : []));
  expect(inQuery).toEqual(expect.arrayContaining(['dateRangeStart', 'dateRangeEnd', 'domain', 'asins']));
  expect(inQuery).not.toContain('dateRange');
  const schemas = document.components.schemas as Record<string, JsonSchema>;
  const inBody = Object.keys(schemas.MarketProductParameters?.properties ?? {});
  expect(inBody).toContain('dateRange');
  expect(inBody).not.toContain('dateRangeStart');
});

test('a selection is the body of a POST, and JSON in the query of a GET', () => {
  const item = document.paths['/api/market/query'];
  const schema = { $ref: '#/components/schemas/MarketProductfinderParameters' };
  expect(item?.post?.requestBody?.content['application/json']?.schema).toEqual(schema);
  const [selection] = item?.get?.parameters ?? [];
  expect(selection).toMatchObject({
    name: 'selection',
    required: true,
    schema: { type: 'string', contentMediaType: 'application/json' },
  });
});

test('a parameter with several names is documented once, and required if every request has it', () => {
  const parameters = document.paths['/api/market/product']?.get?.parameters ?? [];
  expect(parameters.slice(0, 2)).toMatchObject([
    { name: 'domain', description: expect.stringMatching(/`domainId` or `country`/) },
    { name: 'asins', description: expect.stringMatching(/`asin`/) },
  ]);
  const schemas = document.components.schemas as Record<string, JsonSchema>;
  expect(schemas.MarketProductParameters?.required).toEqual(['domain']);
});

test('a 200 is the only success of a call; an unfinished one is described separately, and a quote has an address of its own', () => {
  for (const { path, operation } of operations.filter((one) => one.operation['x-operation'])) {
    expect(JSON.stringify(operation.responses['200']), path).not.toMatch(/Quote|AcceptedJob/);
    expect(operation.responses, path).not.toHaveProperty('202');
    const isCharged = operation['x-pool'] !== undefined || operation['x-alias-of'] !== undefined;
    expect(operation.responses, path).not.toHaveProperty('default');
    if (isCharged && operation['x-units'] !== '0')
      expect(operation['x-unfinished']).toEqual({ $ref: '#/components/responses/UnfinishedCall' });
    const names = operation.parameters?.map((one) => ('name' in one ? one.name : one.$ref));
    expect(names?.join(' '), path).not.toMatch(/dryRun|async|Prefer/);
  }
  for (const path of ['/api/jobs/quote', '/api/batches/quote', '/api/schedules/quote'] as const)
    expect(Object.keys(document.paths[path]?.post?.responses ?? {})).toContain('200');
  expect(document.paths['/api/batches']?.post?.responses).not.toHaveProperty('200');
});

test('names of operations are words of their own, and aliases are deprecated', () => {
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z]+[A-Za-z]*$/);
  expect(ids).toEqual(expect.arrayContaining(['getProducts', 'findDeals', 'retryBatch', 'getTermHistory']));
  for (const { path, operation } of operations)
    expect([path, operation.deprecated]).toEqual([path, operation['x-alias-of'] ? true : undefined]);
});

test('a path of two operations has the parameters of both', () => {
  const search = document.paths['/api/market/search']?.get;
  const [type] = search?.parameters ?? [];
  expect(type).toMatchObject({ name: 'type', schema: { enum: ['product', 'category'], default: 'product' } });
  const names = search?.parameters?.flatMap((one) => ('name' in one ? one.name : [])) ?? [];
  expect(new Set(names).size).toBe(names.length);
  expect(names).toEqual(expect.arrayContaining(['domain', 'term', 'page', 'asinsOnly']));
});
