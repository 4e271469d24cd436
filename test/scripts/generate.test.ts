import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorsTable } from '../../scripts/errors-table.ts';
import { withTables } from '../../scripts/generate.ts';
import { operationsTable } from '../../scripts/operations-table.ts';
import { ERRORS } from '../../src/platform/errors.ts';

test("the README's tables equal the contracts and the list of errors", () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(withTables(readme), 'run npm run generate').toBe(readme);
});

test('names aliases, tool, pools with their timeouts and the price of an operation', () => {
  const rows = operationsTable().split('\n');
  expect(rows).toContainEqual(
    '| `GET /api/market/bestseller` | `GET /api/market/bestsellers` | `market_get_best_sellers` | `market` | 60 s | 10 |',
  );
  expect(rows).toContainEqual(
    '| `GET /api/market/seller` |  | `market_get_seller` | `market`, `storefront` | 60 s, 120 s | 1 a seller id, 10 with storefront |',
  );
  expect(rows).toContainEqual(
    '| `GET /api/quota` | `GET /api/token` | `market_get_quota` | at once |  | 0 |',
  );
});

test('names every error with its status and what becomes of the units', () => {
  const rows = errorsTable().split('\n').slice(2);
  expect(rows).toHaveLength(Object.keys(ERRORS).length);
  for (const { status, code } of Object.values(ERRORS)) {
    expect(rows.filter((row) => row.startsWith(`| ${status} | \`${code}\` |`))).toHaveLength(1);
  }
  expect(rows).toContainEqual(expect.stringMatching(/^\| 502 \| `UPSTREAM_ERROR` .* given back \|$/));
});
