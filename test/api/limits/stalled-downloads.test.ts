import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { asinsFrom, finished, startBatch } from '../../support/batches.ts';
import { test } from '../../support/souk-test.ts';

test.override('soukOptions', { limits: { downloads: 1, downloadStallMs: 4_000 } });

/** The size of the results: more than the buffers of both ends of a connection hold. */
const RESULTS_BYTES = 24 * 1024 * 1024;

test('closes a download whose client has stopped reading, and no other', async ({ souk, client }) => {
  const batch = await startBatch(client, {
    operation: 'market.product',
    params: { domain: 1 },
    split: { asins: asinsFrom('B0STALL', 1) },
  });
  await finished(client, batch);
  const text = Buffer.alloc(RESULTS_BYTES, '{}\n');
  await souk.database.query('update batch_calls set lines = $2 where batch_id = $1', [
    batch.batchId,
    gzipSync(text),
  ]);
  const path = `/api/batches/${batch.batchId}/results`;
  const headers = { 'x-api-key': client.key, 'accept-encoding': 'identity' };
  const stalled = get(`${client.baseUrl}${path}`, { headers });
  const [response] = (await once(stalled, 'response')) as [IncomingMessage];
  // The body is not read. The slot is free again when the gateway has closed the connection.
  await expect
    .poll(async () => (await client.get(path, { headers })).body.length, { timeout: 30_000, interval: 200 })
    .toBe(RESULTS_BYTES);
  await expect(response.toArray()).rejects.toMatchObject({ code: 'ECONNRESET' });
});
