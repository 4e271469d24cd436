import { expect } from 'vitest';
import type { BatchView } from '../../src/batches/view.ts';
import type { Client, Reply } from './client.ts';
import type { Souk } from './souk.ts';

/** A line of a batch's results. */
export interface ResultLine {
  index: number;
  params: unknown;
  code: string;
  msg?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  data?: any;
}

/** ASINs that nobody else has asked for. */
export function asinsFrom(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(10 - prefix.length, '0')}`);
}

export function linesOf(reply: Reply): ResultLine[] {
  return reply.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ResultLine);
}

export async function startBatch(client: Client, body: unknown): Promise<BatchView> {
  const reply = await client.post('/api/batches', body, { headers: { 'content-type': 'application/json' } });
  expect(reply.json).toMatchObject({ code: '0000' });
  expect(reply.status).toBe(202);
  return reply.json.data;
}

export async function batchNow(client: Client, { batchId }: { batchId: string }): Promise<BatchView> {
  return (await client.get(`/api/batches/${batchId}`)).json.data;
}

/** The batch as it is once something holds of it, while time moves on. */
export async function batchOnce(
  souk: Pick<Souk, 'clock'>,
  client: Client,
  batch: { batchId: string },
  holds: (batch: BatchView) => boolean,
  stepMs = 1_000,
): Promise<BatchView> {
  let now = await batchNow(client, batch);
  await expect
    .poll(
      async () => {
        if (holds(now)) return true;
        souk.clock.advance(stepMs);
        now = await batchNow(client, batch);
        return holds(now);
      },
      { timeout: 50_000, interval: 20 },
    )
    .toBe(true);
  return now;
}

/** The batch, once it is finished. */
export async function finished(client: Client, batch: { batchId: string }): Promise<BatchView> {
  await expect
    .poll(async () => (await batchNow(client, batch)).finishedAt, { timeout: 20_000 })
    .not.toBeNull();
  return batchNow(client, batch);
}

export async function resultsOf(
  client: Client,
  batch: { batchId: string },
  query = '',
): Promise<ResultLine[]> {
  return linesOf(await client.get(`/api/batches/${batch.batchId}/results${query}`));
}
