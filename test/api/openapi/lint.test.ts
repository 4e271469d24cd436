import { Document, Spectral } from '@stoplight/spectral-core';
import { Json } from '@stoplight/spectral-parsers';
import { beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import type { JsonSchema } from '../../../src/operations/params/documentation.ts';
import { ruleset } from './ruleset.ts';

/** The linter looks at every schema in every place it is used. */
const SLOW_MS = 300_000;

const spectral = new Spectral();
beforeAll(() => spectral.setRuleset(ruleset));

/** What the linter says of a document, as `rule: place`. */
async function findings(document: unknown): Promise<string[]> {
  const results = await spectral.run(new Document(JSON.stringify(document), Json, 'openapi.json'));
  return results.map(({ code, path, message }) => `${code}: ${path.join(' ')}: ${message}`);
}

test(
  'the linter has nothing to say',
  async () => {
    expect(await findings(openApiDocument())).toEqual([]);
  },
  SLOW_MS,
);

/** The document with one path only. */
function small(path: '/api/market/category' | '/api/market/variations') {
  const document = structuredClone(openApiDocument());
  const item = document.paths[path];
  if (!item?.get) throw new Error(`${path} is gone`);
  return { document: { ...document, paths: { [path]: item } }, operation: item.get, post: item.post };
}

test.each<[string, string, (operation: ReturnType<typeof small>) => void]>([
  [
    'a charged call without 429',
    'owasp:api4:2023-rate-limit-responses-429',
    ({ operation }) => delete operation.responses['429'],
  ],
  [
    'a charged call that does not tell its rate',
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
  'the linter would find %s',
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
