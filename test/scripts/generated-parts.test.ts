import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { documents, PARTS, partsOf, withParts } from '../../scripts/generate.ts';
import { maps } from '../../scripts/maps.ts';
import { errorsTable } from '../../scripts/tables/errors.ts';
import { batchTable, operationsTable } from '../../scripts/tables/operations.ts';
import { limitsTable, settingsTable } from '../../scripts/tables/settings.ts';
import { describeSettings } from '../../src/config/config.ts';
import { describeLimits } from '../../src/config/limits.ts';
import { QUEUED } from '../../src/operations/index.ts';
import { ERRORS } from '../../src/platform/errors.ts';

const texts = documents().map((path) => ({ path, text: readFileSync(path, 'utf8') }));

describe.each(texts.filter(({ text }) => partsOf(text).length > 0))('$path', ({ text }) => {
  test('is up to date with contracts, errors and settings', () => {
    expect(withParts(text), 'run npm run generate').toBe(text);
  });
});

test.each(Object.entries(maps()))('src/site/assets/%s is what the atlases give', (name, map) => {
  expect(readFileSync(`src/site/assets/${name}`, 'utf8') === map, 'run npm run generate').toBe(true);
});

test('some document has every part', () => {
  expect(new Set(texts.flatMap(({ text }) => partsOf(text)))).toEqual(new Set(Object.keys(PARTS)));
});

test.each([
  ['an unknown part', '<!-- magic: npm run generate -->\n\n<!-- end of magic -->'],
  ['a part without an end', '<!-- errors: npm run generate -->\n'],
])('throws for %s', (_, text) => {
  expect(() => withParts(text)).toThrow(/^Cannot generate <!-- /);
});

test('the operations table has name, aliases, tool, pools with timeouts, and price', () => {
  const rows = operationsTable().split('\n');
  expect(rows).toContainEqual(
    '| `market.bestseller` | `GET /api/market/bestseller` | `GET /api/market/bestsellers` | `market_get_best_sellers` | `market` | 60 s | 10 |',
  );
  expect(rows).toContainEqual(
    '| `market.seller` | `GET /api/market/seller` |  | `market_get_seller` | `market`, `storefront` | 60 s, 120 s | 1 per seller id, 10 with storefront |',
  );
  expect(rows).toContainEqual(
    '| `account.quota` | `GET /api/quota` | `GET /api/token` | `market_get_quota` |  |  | 0 |',
  );
});

test('the batch table has the name of every operation that batches accept', () => {
  const rows = batchTable().split('\n').slice(2);
  expect(rows).toHaveLength(QUEUED.length);
  expect(rows).toContainEqual(
    '| `trends.interest-over-time` | `/api/webtrends/interest-over-time` | `interest` |',
  );
  expect(rows).toContainEqual('| `aba.wordhistory` | `/api/aba/word/:wordId/history` | `history` |');
});

test('the errors table has every error with its status and its effect on units', () => {
  const rows = errorsTable().split('\n').slice(2);
  expect(rows).toHaveLength(Object.keys(ERRORS).length);
  for (const { status, code } of Object.values(ERRORS)) {
    expect(rows.filter((row) => row.startsWith(`| ${status} | [\`${code}\`]`))).toHaveLength(1);
  }
  expect(rows).toContainEqual(expect.stringMatching(/^\| 502 \| .*`UPSTREAM_ERROR`.* \| released \|$/));
});

test.each([
  ['settings', settingsTable(), describeSettings(), /^\| `PORT` \| `3000` \| /],
  ['limits', limitsTable(), describeLimits(), /^\| `UPLOAD_BYTES` \| `268435456` \| /],
])('the table of %s has each with its default and meaning', (_, table, described, example) => {
  const rows = table.split('\n').slice(2);
  expect(rows).toHaveLength(described.length);
  for (const { name, meaning } of described)
    expect(
      rows.filter((row) => row.startsWith(`| \`${name}\` |`) && row.endsWith(` ${meaning} |`)),
    ).toHaveLength(1);
  expect(rows).toContainEqual(expect.stringMatching(example));
});
