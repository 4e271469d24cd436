import { atFileStart } from './file-start.ts';
import { createSharedSouk } from './shared-souk.ts';
import { test as ownTest } from './souk-test.ts';

/**
 * `test` for files that share the service of their process with other files, because they need nothing but new accounts: their
 * tests set no options, count no rows and metrics of the whole service, and stop no part of it.
 */
export const test = ownTest
  .extend('sharedSouk', { scope: 'worker' }, ({}, { onCleanup }) => {
    const shared = createSharedSouk();
    onCleanup(() => shared.close());
    return shared;
  })
  .extend('souk', { scope: 'file' }, async ({ sharedSouk, soukOptions }, { onCleanup }) => {
    if (Object.keys(soukOptions).length > 0) throw new Error('a shared service has no options');
    const souk = await sharedSouk.take();
    onCleanup(() => sharedSouk.giveBack());
    return souk;
  })
  .extend('noteFailures', { auto: true }, ({ sharedSouk, task }, { onCleanup }) => {
    onCleanup(() => {
      if (task.result?.state === 'fail') sharedSouk.broken();
    });
  });

atFileStart.push(() => test.override('soukOptions', {}));
