import { expect } from 'vitest';
import { type Fields, recordingsOf, strangeKinds } from '../support/recorded-shapes.ts';
import { test } from '../support/souk-test.ts';

const [deals] = recordingsOf('deal-');
const [sellers] = recordingsOf('handwritten/sellers');
const [categories] = recordingsOf('handwritten/categories');

const valuesOf = (records: unknown) => Object.values((records ?? {}) as Record<string, Fields>);

test.skipIf(!deals)('generated deals have the fields of the recording, with its types', async ({ demo }) => {
  const { json } = await demo.get('deal', { selection: JSON.stringify({ domainId: 1, priceTypes: [0] }) });
  const list = (deals?.answer.deals ?? {}) as Fields & { dr: Fields[] };
  const recorded = list.dr;
  const generated: Fields[] = json.deals.dr;
  expect(generated.length).toBeGreaterThan(0);
  // The documented field is newer than the recording.
  const fields = [...Object.keys(recorded[0] ?? {}), 'parentAsin'];
  expect(Object.keys(generated[0] ?? {}).sort()).toEqual(fields.sort());
  expect(strangeKinds(generated, recorded)).toEqual([]);
  expect(Object.keys(json.deals).sort()).toEqual(Object.keys(list).sort());
  // The recording is older than the two newest series.
  for (const { delta, current } of generated as { delta: number[][]; current: number[] }[])
    expect([delta.length, delta[0]?.length, current.length]).toEqual([4, 36, 36]);
});

test.for([
  ['seller', { seller: 'A2L77EE7U53NWQ', storefront: 1 }, 'sellers', sellers],
  ['category', { category: 0 }, 'categories', categories],
] as const)(
  'the answer of %s has the fields of the written example, with its types (where it exists)',
  async ([path, params, name, example], { demo, skip }) => {
    if (!example) return skip();
    const { json } = await demo.get(path, { domain: 1, ...params });
    const [written, generated] = [valuesOf(example.answer[name]), valuesOf(json[name])];
    expect(Object.keys(written[0] ?? {}).filter((field) => !(field in (generated[0] ?? {})))).toEqual([]);
    expect(strangeKinds(generated, written)).toEqual([]);
  },
);
