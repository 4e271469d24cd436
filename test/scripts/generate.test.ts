import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withTable } from '../../scripts/generate.ts';
import { operationsTable } from '../../scripts/operations-table.ts';

test("the README's table of operations equals the contracts", () => {
  const readme = readFileSync('README.md', 'utf8');
  expect(withTable(readme), 'run npm run generate').toBe(readme);
});

test('names aliases, tool, pools with their timeouts and the price of an operation', () => {
  const rows = operationsTable().split('\n');
  expect(rows).toContainEqual(
    '| `GET /api/market/bestseller` | `GET /api/market/bestsellers` |  | `market` | 60 s | 10 |',
  );
  expect(rows).toContainEqual(
    '| `GET /api/market/seller` |  | `market_get_seller` | `market`, `storefront` | 60 s, 120 s | 1 a seller id, 10 with storefront |',
  );
  expect(rows).toContainEqual(
    '| `GET /api/quota` | `GET /api/token` | `market_get_quota` | at once |  | 0 |',
  );
});
