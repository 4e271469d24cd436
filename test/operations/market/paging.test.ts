import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { QueuedOperation } from '../../../src/operations/define.ts';
import { bestSellers, topSellers } from '../../../src/operations/market/best-sellers.ts';
import { seller } from '../../../src/operations/market/seller.ts';

const ID = 'ASELLER00001';
const NOW = { now: Date.parse('2026-03-04T10:00:00Z') };

interface Shown {
  list: unknown[];
  beside?: unknown[];
  pagination: unknown;
}

/** The operations with pages. Each presents a list of the length that a test chooses. */
const LISTS: Record<string, (length: number, paging: object) => Shown> = {
  bestSellers(length, paging) {
    const { bestSellersList } = present(
      bestSellers,
      { category: 1, ...paging },
      { '': { asinList: entries(length) } },
    );
    return { list: bestSellersList.asinList, pagination: bestSellersList._pagination };
  },
  topSellers(length, paging) {
    const { sellerIdList, _pagination } = present(topSellers, paging, { '': entries(length) });
    return { list: sellerIdList, pagination: _pagination };
  },
  storefront(length, paging) {
    const asinListLastSeen = entries(length).map((_, i) => i);
    const record = { sellerId: ID, asinList: entries(length), asinListLastSeen };
    const { sellers } = present(seller, { seller: ID, storefront: 1, ...paging }, { [ID]: record });
    const { asinList, asinListLastSeen: beside, _pagination } = sellers[ID];
    return { list: asinList, beside, pagination: _pagination };
  },
};

function entries(length: number): string[] {
  return Array.from({ length }, (_, i) => `B${String(i).padStart(9, '0')}`);
}

// biome-ignore lint/suspicious/noExplicitAny: each operation shows data of its own shape.
function present(operation: unknown, sent: object, found: Record<string, unknown>): any {
  const { params, respond } = operation as QueuedOperation;
  if (respond.type !== 'json') throw new Error('no list');
  return respond.present(new Map(Object.entries(found)), params.parse({ domain: 1, ...sent }), NOW).data;
}

test.each(Object.entries(LISTS))(
  '%s have the whole list without _pagination if no page is requested',
  (_name, show) => {
    expect(show(2500, {})).toMatchObject({ list: entries(2500), pagination: undefined });
  },
);

test.each(Object.entries(LISTS))('%s have defaults for missing paging parameters', (_name, show) => {
  const byPage = show(2500, { page: 1 });
  expect(byPage.pagination).toEqual({ page: 1, perPage: 1000, total: 2500, totalPages: 3 });
  expect(byPage.list).toEqual(entries(2500).slice(1000, 2000));
  const bySize = show(2500, { perPage: 7 });
  expect(bySize.pagination).toEqual({ page: 0, perPage: 7, total: 2500, totalPages: 358 });
  expect(bySize.list).toEqual(entries(7));
});

test.each(Object.entries(LISTS))('the pages of %s together are the whole list', (_name, show) => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 120 }), (length, perPage) => {
      const pages = Array.from({ length: Math.ceil(length / perPage) + 1 }, (_, page) =>
        show(length, { page, perPage }),
      );
      expect(pages.flatMap(({ list }) => list)).toEqual(entries(length));
      for (const { list, beside } of pages) if (beside) expect(beside).toHaveLength(list.length);
      expect(pages.at(-1)?.list).toEqual([]);
    }),
    { numRuns: 40 },
  );
});

test('best sellers end after 10,000 entries', () => {
  expect(LISTS.bestSellers?.(12_000, {}).list).toHaveLength(10_000);
  expect(LISTS.bestSellers?.(12_000, { page: 9, perPage: 1000 }).pagination).toMatchObject({ total: 10_000 });
});

test('csvDays keeps the last days of both series, nothing, or everything', () => {
  const day = 1440;
  const end = Math.floor(NOW.now / 60_000) - 21_564_000;
  const csv = [[end - 20 * day, 90, end - 5 * day, 91, end - day, 92], null];
  const csvOf = (csvDays?: number) => {
    const sent = csvDays === undefined ? { seller: ID } : { seller: ID, csvDays };
    return present(seller, sent, { [ID]: { sellerId: ID, csv } }).sellers[ID].csv;
  };
  expect(csvOf()).toEqual(csv);
  expect(csvOf(0)).toBeUndefined();
  expect(csvOf(2)).toEqual([[end - 5 * day, 91, end - day, 92], null]);
});
