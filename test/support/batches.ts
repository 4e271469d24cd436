import { expect } from 'vitest';
import type { BatchView } from '../../src/batches/batch.ts';
import { newAsin } from './answers.ts';
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

/** ASINs with a prefix, which a test chooses so that no other test asks for them. */
export function asinsFrom(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(10 - prefix.length, '0')}`);
}

/** A batch of products with alternating options, so that each item is a call of its own. */
export function callsOf(asins: readonly string[]) {
  return {
    operation: 'market.product',
    items: asins.map((asin, i) => ({ domain: 1, asin, history: i % 2 })),
  };
}

/** Lets the service learn that tokens are plenty: before that, only a few calls may be in progress. */
export async function learnTokens(souk: Souk): Promise<void> {
  await (await souk.client()).get(`/api/market/product?domain=1&asins=${newAsin()}`);
  souk.upstream.calls.length = 0;
}

export const isFinished = ({ finishedAt }: BatchView): boolean => finishedAt !== null;

export const isWaiting = ({ state }: BatchView): boolean => state === 'waiting';

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

/** Advances the clock until a condition holds. @returns the batch. */
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

/** Advances the clock until the batch has ended. @returns the batch. */
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
