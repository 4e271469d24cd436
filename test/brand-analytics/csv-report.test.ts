import { Readable } from 'node:stream';
import { setImmediate as nextImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readCsvReport } from '../../src/brand-analytics/import/csv-report.ts';
import { csvReport, ranked } from '../support/reports.ts';

const WEEK = '2026-04-11';
const PIECE_BYTES = 65_536;

/** A file that counts the pieces it has sent. */
function countedFile(text: string) {
  const bytes = Buffer.from(text);
  const file = { sent: 0, pieces: Math.ceil(bytes.length / PIECE_BYTES), isClosed: false };
  async function* pieces() {
    try {
      for (; file.sent < file.pieces; file.sent += 1)
        yield bytes.subarray(file.sent * PIECE_BYTES, (file.sent + 1) * PIECE_BYTES);
    } finally {
      file.isClosed = true;
    }
  }
  return { file, stream: Readable.from(pieces(), { objectMode: false, highWaterMark: 1 }) };
}

const terms = (count: number) => ranked(...Array.from({ length: count }, (_, i) => `term ${i}`));

test('reads a large file only as fast as its rows are taken, and returns all rows', async () => {
  const { file, stream } = countedFile(csvReport(WEEK, terms(60_000)));
  expect(file.pieces).toBeGreaterThan(30);
  let rows = 0;
  for await (const batch of readCsvReport(stream).batches) {
    const sentBefore = file.sent;
    // Time for a file that is not asked for more to send more.
    for (let i = 0; i < 100; i += 1) await nextImmediate();
    // Each stream between the file and the parser may hold one piece.
    expect(file.sent - sentBefore).toBeLessThan(4);
    rows += batch.length;
  }
  expect(rows).toBe(60_000);
});

test('closes a file whose reader stops', async () => {
  const { file, stream } = countedFile(csvReport(WEEK, terms(60_000)));
  for await (const _batch of readCsvReport(stream).batches) break;
  await expect.poll(() => file.isClosed).toBe(true);
  expect(file.sent).toBeLessThan(file.pieces / 2);
});

test('refuses a quoted field of more than 1 MiB, and names the line on which it begins', async () => {
  const { file, stream } = countedFile(
    csvReport(WEEK, [...terms(3), ...ranked(`"${'x\n'.repeat(2_000_000)}`)]),
  );
  const read = async () => {
    for await (const _batch of readCsvReport(stream).batches);
  };
  await expect(read()).rejects.toThrow('Line 6: a quoted field is not closed.');
  expect(file.sent).toBeLessThan(file.pieces);
});
