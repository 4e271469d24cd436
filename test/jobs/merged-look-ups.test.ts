import { expect } from 'vitest';
import { holdProducts } from '../support/answers.ts';
import type { Client } from '../support/client.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

test.override('soukOptions', { lookUpWindowMs: 3 });

const asins = (letter: string, count: number) =>
  Array.from({ length: count }, (_, i) => `B0${letter}${String(i).padStart(7, '0')}`);

const pathOf = (wanted: readonly string[]) => `/api/market/product?domain=1&asins=${wanted.join(',')}`;

test('look-ups of several accounts that follow each other share one upstream call, and each account is charged for its own', async ({
  souk,
  upstream,
}) => {
  const open = holdProducts(upstream);
  const clients = await Promise.all([0, 1, 2].map(() => souk.client()));
  const wanted = [asins('A', 1), asins('B', 30), asins('C', 70)];
  const look = (i: number) => (clients[i] as Client).get(pathOf(wanted[i] ?? []));
  const replies = [look(0)];
  await souk.clock.until('look-up window');
  // The second of these two fills a request, which is sent at once.
  replies.push(look(1), look(2));
  const [, shared] = await upstream.received(2, 'product');
  expect(shared?.params.asin?.split(',').sort()).toEqual([...asins('B', 30), ...asins('C', 70)]);
  open();
  for (const [i, reply] of (await Promise.all(replies)).entries()) {
    expect(reply.headers).toMatchObject({
      'x-units-consumed': String(wanted[i]?.length),
      'x-cache': 'MISS',
    });
    const data = reply.json.data as { products: { asin: string }[] };
    expect(data.products.map(({ asin }) => asin)).toEqual(wanted[i]);
  }
  expect(await Promise.all(clients.map(unitsUsed))).toEqual([1, 30, 70]);
  expect(upstream.callsTo('product')).toHaveLength(2);
  expect(souk.events.seen('tokens.spent').reduce((sum, { tokens }) => sum + tokens, 0)).toBe(2);
});
