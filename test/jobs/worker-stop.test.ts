import { expect } from 'vitest';
import { holdProducts } from '../support/answers.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';

const PATH = '/api/market/product?domain=1&asins=B0STOP0001,B0STOP0002,B0STOP0003';

test('a job that a stopping worker hands back runs on another worker and is charged once', async ({
  ownSouk: souk,
}) => {
  const client = await souk.client();
  const open = holdProducts(souk.upstream);
  const reply = client.get(PATH);
  await souk.upstream.received(1, 'product');
  const [stopping] = souk.workers.splice(0);
  await souk.addWorker();
  const stopped = stopping?.close();
  await souk.clock.until('market worker grace');
  souk.clock.advance(10_000);
  await souk.upstream.abandoned(1);
  await stopped;
  open();
  const { status, headers } = await reply;
  expect(status).toBe(200);
  expect(headers['x-units-consumed']).toBe('3');
  expect(souk.upstream.callsTo('product')).toHaveLength(2);
  expect(await unitsUsed(client)).toBe(3);
  const { rows } = await souk.database.query('select kind, units from ledger order by id');
  expect(rows).toEqual([
    { kind: 'reserve', units: 3 },
    { kind: 'settle', units: 3 },
  ]);
});

test('a worker that stops finishes a job that ends within the grace period', async ({ ownSouk: souk }) => {
  const client = await souk.client();
  const open = holdProducts(souk.upstream);
  const reply = client.get(PATH);
  await souk.upstream.received(1, 'product');
  const [stopping] = souk.workers.splice(0);
  const stopped = stopping?.close();
  open();
  expect((await reply).status).toBe(200);
  await stopped;
  expect(souk.upstream.callsTo('product')).toHaveLength(1);
});
