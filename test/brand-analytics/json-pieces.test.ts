import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openJsonFrame } from '../../src/brand-analytics/import/json-frame.ts';
import { jsonPieces } from '../../src/brand-analytics/import/json-pieces.ts';
import { repetitions } from '../support/repetitions.ts';

/** Returns the entries in the pieces of a document that arrives in chunks of these sizes. @throws if a piece is not JSON. */
async function entriesOf(text: string, sizes: readonly number[]): Promise<unknown[]> {
  const file = Buffer.from(text);
  async function* chunks() {
    for (let from = 0, n = 0; from < file.length; from += sizes[n % sizes.length] ?? 1, n += 1)
      yield file.subarray(from, from + (sizes[n % sizes.length] ?? 1));
  }
  const entries: unknown[] = [];
  const arriving = Readable.from(chunks(), { objectMode: false });
  for await (const { bytes, entry } of jsonPieces(
    arriving,
    openJsonFrame(() => {}),
  )) {
    expect(entry).toBe(entries.length + 1);
    entries.push(...(JSON.parse(Buffer.from(bytes).toString()) as unknown[]));
  }
  return entries;
}

const parsed = (text: string): { value: unknown } | null => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return null;
  }
};

test.each([0, 1, 5])('a list without entries, with %i blanks in it, has no pieces', async (blanks) => {
  const text = `{"dataByDepartmentAndSearchTerm":[${' '.repeat(blanks)}],"other":[1]}`;
  for (let size = 1; size < text.length; size += 1) expect(await entriesOf(text, [size])).toEqual([]);
});

/** Some entries are so large that a few of them fill a piece. */
const entry = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.record({
    departmentName: fc.constant('Beauty'),
    searchTerm: fc.constantFrom('tent', 'kettle', '"],[{'),
    clickedItemName: fc.constantFrom('', 'x'.repeat(60_000)),
  }),
);
const document = fc
  .tuple(
    fc.array(entry, { maxLength: 40 }),
    fc.jsonValue({ maxDepth: 2 }),
    fc.boolean(),
    fc.constantFrom(0, 2),
  )
  .map(([entries, reportSpecification, isFirst, indent]) => ({
    entries,
    text: JSON.stringify(
      isFirst
        ? { dataByDepartmentAndSearchTerm: entries, reportSpecification, other: [1] }
        : {
            a: { dataByDepartmentAndSearchTerm: [1] },
            reportSpecification,
            dataByDepartmentAndSearchTerm: entries,
          },
      null,
      indent,
    ),
  }));
const sizes = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 5 });

test('cuts any document into its entries for chunks of any size', async () => {
  await fc.assert(
    fc.asyncProperty(document, sizes, async ({ text, entries }, chunkSizes) => {
      expect(await entriesOf(text, chunkSizes)).toEqual(parsed(JSON.stringify(entries))?.value);
    }),
    { numRuns: repetitions(50) },
  );
});

test('refuses a document that is damaged anywhere', async () => {
  const damage = fc.record({
    at: fc.nat(),
    deleted: fc.nat({ max: 2 }),
    inserted: fc.constantFrom('', ',', '"', ']', '}', '[', '{', '\\', ':', 'x'),
  });
  await fc.assert(
    fc.asyncProperty(document, damage, sizes, async ({ text }, { at, deleted, inserted }, chunkSizes) => {
      const place = at % text.length;
      const damaged = text.slice(0, place) + inserted + text.slice(place + deleted);
      fc.pre(parsed(damaged) === null);
      await expect(entriesOf(damaged, chunkSizes)).rejects.toThrow();
    }),
    { numRuns: repetitions(50) },
  );
});
