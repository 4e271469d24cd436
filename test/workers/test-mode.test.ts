import { expect } from 'vitest';
import { createTestKey } from '../../src/billing/test-wallet.ts';
import { newAsin } from '../support/answers.ts';
import { type Demo, openDemo } from '../support/demo-provider.ts';
import { test } from '../support/souk-test.ts';

const productOf = (asin: string) => `/api/market/product?domain=1&asins=${asin}`;

test('starts the demo provider with the first test call, and again after a crash', async ({
  openAnother,
  onTestFinished,
}) => {
  const started: { demo: Demo; crash(): Promise<void> }[] = [];
  let failures = 0;
  const souk = await openAnother({
    async startTestProvider() {
      if (failures > 0) {
        failures -= 1;
        throw new Error('the demo provider ended during its start');
      }
      const demo = await openDemo();
      let noteEnd = () => {};
      const ended = new Promise<void>((resolve) => {
        noteEnd = resolve;
      });
      const end = async () => {
        await demo.close();
        noteEnd();
      };
      started.push({ demo, crash: end });
      return { url: demo.url, ended, stop: end };
    },
  });
  onTestFinished(() => souk.close());
  const { accountId } = await souk.account();
  const tester = souk.clientOf(await createTestKey(souk.database, accountId, souk.clock.now()));
  expect(started).toHaveLength(0);

  for (const _ of ['the first', 'the same']) {
    expect((await tester.get(productOf(newAsin()))).status).toBe(200);
    expect(started).toHaveLength(1);
  }
  await started[0]?.crash();
  // The job is tried again, even if the first start fails.
  failures = 1;
  const again = await tester.get(productOf(newAsin()));
  expect(again.json).toMatchObject({ livemode: false, code: '0000' });
  expect([started.length, failures]).toEqual([2, 0]);
  expect((await tester.get('/api/quota')).json.data.general.daily.used).toBe(3);
});
