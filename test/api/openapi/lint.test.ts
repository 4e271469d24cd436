import { Document, Spectral } from '@stoplight/spectral-core';
import { Json } from '@stoplight/spectral-parsers';
import { beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { JsonSchema } from '../../../src/operations/params/request.ts';
import { ruleset } from './ruleset.ts';

/** The linter visits every schema at each reference to it. */
const SLOW_MS = 300_000;

const spectral = new Spectral();
beforeAll(() => spectral.setRuleset(ruleset));

/** Returns the findings of the linter in a document, as `rule: place`. */
async function findings(document: unknown): Promise<string[]> {
  const results = await spectral.run(new Document(JSON.stringify(document), Json, 'openapi.json'));
  return results.map(({ code, path, message }) => `${code}: ${path.join(' ')}: ${message}`);
}

test(
  'the linter finds nothing in the document',
  async () => {
    expect(await findings(openApiDocument())).toEqual([]);
  },
  SLOW_MS,
);

/** The document with one path only, and the components that the path refers to. */
function small(path: '/api/market/category' | '/api/market/variations') {
  const document = structuredClone(openApiDocument());
  const item = document.paths[path];
  if (!item?.get) throw new Error(`${path} is gone`);
  const all = document.components as unknown as Record<string, Record<string, unknown>>;
  const kept: typeof all = { securitySchemes: all.securitySchemes ?? {} };
  const keep = (value: unknown) => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(
      /"#\/components\/(\w+)\/([\w-]+)"/g,
    )) {
      if (kept[kind]?.[name]) continue;
      kept[kind] = { ...kept[kind], [name]: all[kind]?.[name] };
      keep(all[kind]?.[name]);
    }
  };
  keep(item);
  const components = kept as unknown as typeof document.components;
  return {
    document: { ...document, paths: { [path]: item }, components },
    operation: item.get,
    post: item.post,
  };
}

test.each<[string, string, (operation: ReturnType<typeof small>) => void]>([
  [
    'a charged call without 429',
    'owasp:api4:2023-rate-limit-responses-429',
    ({ operation }) => delete operation.responses['429'],
  ],
  [
    'a charged call without rate limit headers',
    'owasp:api4:2023-rate-limit',
    ({ operation }) => Object.assign(operation.responses['200'] ?? {}, { headers: {} }),
  ],
  [
    'an operation without 401',
    'owasp:api8:2023-define-error-responses-401',
    ({ operation }) => delete operation.responses['401'],
  ],
  [
    'an operation without 500',
    'owasp:api8:2023-define-error-responses-500',
    ({ operation }) => delete operation.responses['500'],
  ],
  [
    'an operation without 400',
    'owasp:api8:2023-define-error-validation',
    ({ operation }) => delete operation.responses['400'],
  ],
  [
    'a number without bounds in a query',
    'owasp:api4:2023-integer-limit',
    ({ operation }) => addQuery(operation, { type: 'integer', format: 'int32' }),
  ],
  [
    'a text without bounds in a query',
    'owasp:api4:2023-string-limit',
    ({ operation }) => addQuery(operation, { type: 'string', format: 'uri' }),
  ],
  [
    'a list without bounds in a body',
    'owasp:api4:2023-array-limit',
    ({ document }) => {
      const { properties } =
        (document.components.schemas as Record<string, JsonSchema>).MarketVariationsParameters ?? {};
      Object.assign(properties ?? {}, { list: { type: 'array', items: {} } });
    },
  ],
])(
  'the linter finds %s',
  async (_what, rule, spoil) => {
    const spoilt = small('/api/market/variations');
    spoil(spoilt);
    expect(await findings(spoilt.document)).toContainEqual(expect.stringContaining(`${rule}: `));
  },
  SLOW_MS,
);

function addQuery(operation: ReturnType<typeof small>['operation'], schema: JsonSchema): void {
  operation.parameters = [{ name: 'more', in: 'query', description: 'More', schema }];
}
