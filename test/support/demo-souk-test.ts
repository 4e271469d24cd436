import { loadKeywords } from './operation-samples.ts';
import { openSouk } from './souk.ts';
import { test as base } from './souk-test.ts';

/** `test` with a service beside `souk` whose upstream is the demo provider, which has an answer for each sample. */
export const test = base
  .extend(
    'demoSettings',
    { scope: 'file' },
    { DEMO_TOKENS_PER_MINUTE: '1000000', DEMO_LIGHTNING_DEALS: '50' },
  )
  .extend('demoSouk', { scope: 'file' }, async ({ demo }, { onCleanup }) => {
    const demoSouk = await openSouk({ upstreamUrl: demo.url });
    onCleanup(() => demoSouk.close());
    await loadKeywords(demoSouk.database);
    return demoSouk;
  })
  .extend('demoClient', { scope: 'file' }, ({ demoSouk }) =>
    demoSouk.client({ plan: { minuteLimit: 100_000 } }),
  );
