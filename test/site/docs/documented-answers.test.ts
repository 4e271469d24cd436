import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { projectFile } from '../../../src/platform/project.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url, testUrl: demo.url }));

/** Fields of products whose values depend on the time of the call. */
const OF_THE_DAY = new Set(
  'price amazonPrice bsr rating reviewCount countNew monthlySold lastUpdate'.split(' '),
);

/** Reduces an answer to what a document can promise: names in their order, and values that stay; `...` stands for any text. */
function lasting(answer: unknown, documented: unknown, name = ''): unknown {
  if (OF_THE_DAY.has(name)) return typeof answer;
  if (documented === '...') return typeof answer === 'string' ? '...' : answer;
  if (Array.isArray(answer))
    return answer.map((entry, i) => lasting(entry, Array.isArray(documented) ? documented[i] : undefined));
  if (typeof answer !== 'object' || answer === null) return answer;
  const others = (documented ?? {}) as Record<string, unknown>;
  return Object.entries(answer).map(([key, value]) => [key, lasting(value, others[key], key)]);
}

test.for([
  ['README.md', 'live'],
  ['docs/guides/first-call.md', 'test'],
] as const)(
  'the first call of %s with a %s key gets the documented answer',
  async ([file, mode], { souk }) => {
    const text = readFileSync(projectFile(file), 'utf8');
    const [, path = ''] = /curl .*?"(?:http:\/\/127\.0\.0\.1:3000|\$SOUK_URL)([^"]+)"/.exec(text) ?? [];
    const [, example = ''] = /^```json\n(.*?)^```$/ms.exec(text) ?? [];
    const documented: unknown = JSON.parse(example);
    const { accountId, key } = await souk.account();
    const used = mode === 'live' ? key : await createTestKey(souk.database, accountId, souk.clock.now());
    const { status, json } = await souk.clientOf(used).get(path);
    expect(status).toBe(200);
    expect(lasting(json, documented)).toEqual(lasting(documented, documented));
  },
);
