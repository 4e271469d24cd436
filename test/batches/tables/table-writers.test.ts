import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { test as base, expect } from 'vitest';
import type { CallLines } from '../../../src/batches/tables/result-table.ts';
import {
  createTableWriters,
  LONGEST_WAIT_MS,
  MOST_OF_ACCOUNT,
  MOST_TABLES,
} from '../../../src/batches/tables/table-writers.ts';
import { existingOperation } from '../../../src/operations/index.ts';
import { stringifyJson } from '../../../src/platform/json.ts';
import { TestClock } from '../../support/clock.ts';

const test = base
  .extend('clock', () => new TestClock())
  .extend('writers', ({ clock }, { onCleanup }) => {
    const writers = createTableWriters(clock);
    onCleanup(() => writers.close());
    return writers;
  });

const input = stringifyJson(
  existingOperation('market.product').params.parse({
    domain: 1,
    asins: 'B0TABLE001',
    detailLevel: 'summary',
  }),
);
const TABLE = { of: 'batch', operation: 'market.product', table: 'products', format: 'csv', input } as const;

/** The results of a call: one item with these products, as JSON. */
function linesOf(products: string): CallLines {
  return {
    input,
    lines: gzipSync(`{"index":0,"params":{},"code":"0000","data":{"products":${products}}}\n`),
    at: 0,
  };
}

const ROWS = 1_000;
const MANY = linesOf(
  JSON.stringify(
    Array.from({ length: ROWS }, (_, i) => ({ asin: `B0TABLE${i}`, domainId: 1, title: 'x'.repeat(300) })),
  ),
);

async function* calls(count: number): AsyncGenerator<CallLines> {
  for (let i = 0; i < count; i += 1) yield MANY;
}

test('writes a table for each account, refuses further ones, and frees a process when its table has ended', async ({
  writers,
}) => {
  const accounts = Array.from({ length: MOST_TABLES }, (_, i) => 1 + Math.floor(i / MOST_OF_ACCOUNT));
  const open = accounts.map((account) => writers.write(account, TABLE, calls(1)));
  expect(() => writers.write(1, TABLE, calls(1))).toThrow(/tables of this account/);
  expect(() => writers.write(9, TABLE, calls(1))).toThrow(expect.objectContaining({ kind: 'TOO_MANY_OPEN' }));
  const [first, gone, ...others] = open;
  expect((await text(first as never)).trim().split('\n')).toHaveLength(ROWS + 1);
  // A reader that goes before it has read anything.
  gone?.destroy();
  const linesOfNext = async () => (await text(writers.write(1, TABLE, calls(2)))).trim().split('\n').length;
  for (let i = 0; i < 5; i += 1) await expect.poll(linesOfNext).toBe(2 * ROWS + 1);
  for (const table of others) expect(await text(table)).toContain('B0TABLE999');
});

test('ends the table of a reader that stops, and not that of a slow one that goes on', async ({
  clock,
  writers,
}) => {
  const stopped = writers.write(1, TABLE, calls(10));
  const slow = writers.write(2, TABLE, calls(30));
  await stopped[Symbol.asyncIterator]().next();
  const ended = new Promise((resolve) => stopped.once('error', resolve));
  let waitedMs = 0;
  let bytes = 0;
  for await (const piece of slow as AsyncIterable<Buffer>) {
    clock.advance(4_000);
    waitedMs += 4_000;
    bytes += piece.length;
  }
  expect(waitedMs).toBeGreaterThan(LONGEST_WAIT_MS);
  expect(bytes).toBeGreaterThan(30 * ROWS * 300);
  expect(await ended).toMatchObject({ message: 'a table was not read in time' });
  await expect.poll(() => text(writers.write(1, TABLE, calls(1)))).toContain('B0TABLE1');
});

test('a table that needs more memory than a process may have ends alone', async ({ writers }) => {
  async function* huge(): AsyncGenerator<CallLines> {
    yield linesOf(`[${'[],'.repeat(7_000_000)}[]]`);
  }
  const other = writers.write(2, TABLE, calls(3));
  await expect(text(writers.write(1, TABLE, huge()))).rejects.toThrow('the process that wrote a table ended');
  expect((await text(other)).trim().split('\n')).toHaveLength(3 * ROWS + 1);
  await expect.poll(() => text(writers.write(1, TABLE, calls(1)))).toContain('B0TABLE1');
});
