import { execFileSync } from 'node:child_process';
import { h } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { describe, expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { requestOfCurl } from '../../../src/site/docs/curl-line.ts';
import { GUIDES, renderGuide } from '../../../src/site/docs/guides.ts';
import { CHAPTERS, exampleRequestOf } from '../../../src/site/docs/reference.tsx';
import { CallExamples, curlExample } from '../../../src/site/kit/call-examples.tsx';
import { test } from '../../support/demo-souk-test.ts';

const ENDPOINTS = CHAPTERS.flatMap(({ endpoints }) => endpoints);

test('the reference has every address of the OpenAPI document once, without aliases', () => {
  const described = Object.entries(openApiDocument().paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { deprecated }]) => (deprecated ? [] : `${method} ${path}`)),
  );
  const shown = ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
  expect([...shown].sort()).toEqual([...described].sort());
});

describe('examples', () => {
  const operations = ENDPOINTS.filter(({ operation }) => operation['x-operation'] !== undefined);

  test.for(operations.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    'the example of %s is a valid request',
    async ([, endpoint], { demoClient }) => {
      const { method, url, body } = exampleRequestOf(endpoint);
      const answer = await demoClient.get(url, {
        method: method as 'GET',
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      // The date of the example need not be that of an imported week.
      if (answer.status === 400) expect(answer.json.msg).toMatch(/^reportDate: /);
    },
  );

  const hostile = {
    term: `it's "$HOME" \\ \u2028 </script>`,
    flag: true,
    none: null,
    list: [1, 'a'],
    id: 9007199254740993n,
  };
  const example = {
    request: { method: 'POST', url: '/api/x?a=1', body: hostile },
    baseUrl: 'http://127.0.0.1:9',
  };

  test('in Python are valid Python with the same body', () => {
    const html = renderToString(h(CallExamples, { id: 'x', ...example }));
    const [, escaped = ''] = /id="x-python">([^<]*)</.exec(html) ?? [];
    const code = escaped
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&');
    const stub = `
import json, sys, types
class Answer:
    def json(self): return {"data": None}
def post(url, headers, json): print(__import__("json").dumps([url, headers, json])); return Answer()
sys.modules["requests"] = types.SimpleNamespace(post=post)
`;
    const printed = execFileSync('python3', ['-c', stub + code]).toString();
    expect(JSON.parse(printed)).toEqual([
      'http://127.0.0.1:9/api/x?a=1',
      { 'X-API-Key': 'YOUR_KEY' },
      { ...hostile, id: Number(hostile.id) },
    ]);
    expect(printed).toContain('9007199254740993');
  });

  test.each([
    ['a table as text', '/api/market/product?format=csv', 'response.text()', 'response.text'],
    ['a table as a file', '/api/market/product?format=xlsx', 'response.arrayBuffer()', 'response.content'],
    ['a picture', '/api/market/graphimage?asin=B0PICTURE1', 'response.arrayBuffer()', 'response.content'],
    ['the data', '/api/market/product?format=json', 'response.json()', 'response.json()'],
  ])('read %s as what it is', (_, url, typeScript, python) => {
    const request = { method: 'GET', url };
    const html = renderToString(h(CallExamples, { id: 'x', request, baseUrl: 'http://127.0.0.1:9' }));
    expect(html.match(/response\.\w+(\(\))?(?!\w)/g)).toEqual([typeScript, python]);
  });

  test('with curl keep the digits of a long id', () => {
    expect(curlExample(example)).toContain('9007199254740993');
  });
});

test.each([
  [
    'curl -H "X-API-Key: $SOUK_API_KEY" "$SOUK_URL/api/jobs?limit=1"',
    { method: 'GET', url: '/api/jobs?limit=1' },
  ],
  [
    `curl -H "X-API-Key: $SOUK_API_KEY" -H "Content-Type: application/json" "$SOUK_URL/api/jobs" \\\n  -d '{ "a": 1 }'`,
    { method: 'POST', url: '/api/jobs', body: { a: 1 } },
  ],
  [
    'curl -X DELETE -H "X-API-Key: $SOUK_API_KEY" "$SOUK_URL/api/jobs/1"',
    { method: 'DELETE', url: '/api/jobs/1' },
  ],
  ['curl -H "X-API-Key: $SOUK_API_KEY" "$SOUK_URL/api/jobs/$JOB"', null],
  ['curl -H "X-API-Key: $SOUK_API_KEY" -H "Prefer: wait=5" "$SOUK_URL/api/jobs"', null],
  ['curl -H "X-API-Key: $SOUK_API_KEY" "$SOUK_URL/api/jobs"\ncurl "$SOUK_URL/healthz"', null],
  ['curl -H "X-API-Key: $SOUK_API_KEY" "$SOUK_URL/api/jobs" | jq .', null],
  ['npm start', null],
])('the example %j of a guide is the request %j', (text, expected) => {
  expect(requestOfCurl(text)).toEqual(expected);
});

test('most guides that call the service show the call in three languages', () => {
  const shown = GUIDES.filter((guide) => renderGuide(guide).html.includes('-python"'));
  expect(shown.length).toBeGreaterThan(6);
});
