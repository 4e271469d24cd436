import { expect, onTestFinished } from 'vitest';
import { expectUsable } from '../../../support/accessibility.ts';
import { describeInBrowser, faultsOf, openBrowser } from '../../../support/browser.ts';
import { PAGES, signedIn } from '../../../support/customer.ts';
import { test } from '../../../support/souk-test.ts';

test.override('soukOptions', { pages: PAGES });

const NEW = '/account/batches/new';
const CSV = 'Title,ASIN\nLamp,B0DROP0001\nPump,B0DROP0002\n';

describeInBrowser('the page of a new batch', () => {
  test('takes a file by the picker, and one that is dropped, and shows the price', {
    timeout: 120_000,
  }, async ({ souk }) => {
    const customer = await signedIn(souk);
    const browser = await openBrowser();
    onTestFinished(() => browser.close());
    const { baseUrl } = customer.client;
    const page = await browser.page({ baseURL: baseUrl });
    await page
      .context()
      .addCookies([...customer.visitor.cookies].map(([name, value]) => ({ name, value, url: baseUrl })));
    await page.goto(NEW);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'products.csv', mimeType: 'text/csv', buffer: Buffer.from(CSV) });
    await page.getByRole('button', { name: 'Check cost' }).click();
    await page.getByText('2 items of the column ASIN from products.csv').waitFor();
    await expectUsable(page, 'batch-from-file');

    await page.goto(NEW);
    const dropped = await page.evaluateHandle((content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], 'dropped.csv', { type: 'text/csv' }));
      return transfer;
    }, CSV);
    await page.dispatchEvent('body', 'drop', { dataTransfer: dropped });
    await page.getByText('2 items of the column ASIN from dropped.csv').waitFor();
    expect(await page.locator('textarea[name=items]').inputValue()).toBe('B0DROP0001\nB0DROP0002');
    expect(faultsOf(page).errors).toEqual([]);
  });
});
