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
function small(path: '/api/market/variations') {
  const document = structuredClone(openApiDocument());
  const item = document.paths[path];
  if (!item?.get || !item.post) throw new Error(`${path} is gone`);
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
  return { document: { ...document, paths: { [path]: item }, components }, get: item.get, post: item.post };
}

test(
  'the linter finds missing refusals, missing rate limit headers, and parameters and lists without bounds',
  async () => {
    const { document, get, post } = small('/api/market/variations');
    for (const status of ['400', '401', '429', '500']) delete get.responses[status];
    Object.assign(post.responses['200'] ?? {}, { headers: {} });
    const parameter = (name: string, schema: JsonSchema) =>
      ({ name, in: 'query', description: 'More', schema }) as const;
    get.parameters = [
      parameter('number', { type: 'integer', format: 'int32' }),
      parameter('text', { type: 'string', format: 'uri' }),
    ];
    const { properties } =
      (document.components.schemas as Record<string, JsonSchema>).MarketVariationsParameters ?? {};
    Object.assign(properties ?? {}, { list: { type: 'array', items: {} } });
    const rules = (await findings(document)).map((finding) => finding.split(': ')[0]);
    expect(rules).toEqual(
      expect.arrayContaining([
        'owasp:api4:2023-rate-limit-responses-429',
        'owasp:api4:2023-rate-limit',
        'owasp:api8:2023-define-error-responses-401',
        'owasp:api8:2023-define-error-responses-500',
        'owasp:api8:2023-define-error-validation',
        'owasp:api4:2023-integer-limit',
        'owasp:api4:2023-string-limit',
        'owasp:api4:2023-array-limit',
      ]),
    );
  },
  SLOW_MS,
);
