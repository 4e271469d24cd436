import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readJsonReport } from '../../src/brand-analytics/import/json-report.ts';
import { repetitions } from '../support/repetitions.ts';
import { jsonReport, reportEntry } from '../support/reports.ts';

/** Reads a document that arrives in chunks of these sizes. @returns the number of its rows. */
async function rowsIn(text: string, sizes: readonly number[]): Promise<number> {
  const file = Buffer.from(text);
  async function* chunks() {
    for (let from = 0, n = 0; from < file.length; from += sizes[n % sizes.length] ?? 1, n += 1)
      yield file.subarray(from, from + (sizes[n % sizes.length] ?? 1));
  }
  let rows = 0;
  for await (const batch of readJsonReport(Readable.from(chunks(), { objectMode: false })).batches)
    rows += batch.length;
  return rows;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('refuses a document that is damaged and no longer valid JSON', async () => {
  const text = jsonReport(
    '2026-03-07',
    ['tent', 'kettle', '"],[{ caf\u00e9 \u{1f600}'].map((term, i) => reportEntry(term, i + 1, 1)),
  );
  const damage = fc.record({
    at: fc.nat(),
    deleted: fc.nat({ max: 2 }),
    inserted: fc.constantFrom('', ',', '"', ']', '}', '[', '{', '\\', ':', 'x'),
  });
  const sizes = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(damage, sizes, async ({ at, deleted, inserted }, chunkSizes) => {
      expect(await rowsIn(text, chunkSizes)).toBe(3);
      const place = at % text.length;
      const damaged = text.slice(0, place) + inserted + text.slice(place + deleted);
      fc.pre(!isJson(damaged));
      await expect(rowsIn(damaged, chunkSizes)).rejects.toThrow();
    }),
    { numRuns: repetitions(50) },
  );
});
