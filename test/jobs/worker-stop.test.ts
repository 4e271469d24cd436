import { afterEach, beforeEach, expect, test } from 'vitest';
import { knowsEveryProduct } from '../support/answers.ts';
import type { Client } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import { openSouk, type Souk } from '../support/souk.ts';
import { unitsUsed } from '../support/units.ts';

let souk: Souk;
let client: Client;
beforeEach(async () => {
  souk = await openSouk();
  client = await souk.client();
});
afterEach(() => souk.close());

const PATH = '/api/market/product?domain=1&asins=B0STOP0001,B0STOP0002,B0STOP0003';

test('a job that a stopping worker hands back runs on another worker and is charged once', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const reply = client.get(PATH);
  await expect.poll(() => souk.upstream.callsTo('product')).toHaveLength(1);
  const [stopping] = souk.workers.splice(0);
  await souk.addWorker();
  const stopped = stopping?.close();
  const [abandoned] = souk.upstream.callsTo('product');
  // The grace a worker gives its running jobs is the last timer it starts.
  await expect
    .poll(() => {
      souk.clock.advance(1_000);
      return abandoned?.aborted;
    })
    .toBe(true);
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

test('a worker that stops lets a job finish that needs no more than the grace', async () => {
  const { reached, open } = gate();
  souk.upstream.on('product', async (...call) => {
    await reached;
    return knowsEveryProduct(...call);
  });
  const reply = client.get(PATH);
  await expect.poll(() => souk.upstream.callsTo('product')).toHaveLength(1);
  const [stopping] = souk.workers.splice(0);
  const stopped = stopping?.close();
  open();
  expect((await reply).status).toBe(200);
  await stopped;
  expect(souk.upstream.callsTo('product')).toHaveLength(1);
});
