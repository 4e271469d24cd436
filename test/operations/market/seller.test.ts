import { expect, test } from 'vitest';
import { maxAgeMs, type QueuedOperation } from '../../../src/operations/define.ts';
import { seller } from '../../../src/operations/market/seller.ts';
import { canonical, faultsOf } from '../../support/parameters.ts';

const [A, B] = ['ASELLER00001', 'BSELLER00001'];
const read = (sent: object) => canonical(seller, { domain: 1, ...sent });

test('refuses a storefront of several sellers', () => {
  expect(faultsOf(seller, { domain: 1, seller: [A, B], storefront: 1 })).toEqual({
    seller: 'must be one seller id with storefront, got 2',
  });
  expect(faultsOf(seller, { domain: 1, seller: [A, A], storefront: 1 })).toEqual({});
});

test('ignores update without a storefront', () => {
  expect(read({ seller: A, update: 0 }).update).toBeUndefined();
  const forced = read({ seller: A, update: 0, storefront: 1 });
  expect(maxAgeMs(seller as unknown as QueuedOperation, forced)).toBe(0);
});

test('each seller is a source, and its storefront is another one', () => {
  const identities = (sent: object) => seller.source(read(sent)).map(({ identity }) => identity);
  expect(identities({ seller: `${B},${A}`, csvDays: 3, page: 1 })).toEqual(identities({ seller: [A, B] }));
  expect(identities({ seller: A, storefront: 1 })).not.toEqual(identities({ seller: A }));
});
