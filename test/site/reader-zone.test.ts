import { expect } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { describeInBrowser, faultsOf, type Page } from '../support/browser.ts';
import { type Customer, PAGES, signedIn } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';

/** Readers, with what a time looks like to them. The service has off-peak hours from 19:00 to 07:00 in Shanghai. */
const READERS = [
  {
    timezoneId: 'America/Los_Angeles',
    locale: 'en-US',
    name: 'PST',
    offPeak: 'from 19:00 to 07:00 (Asia/Shanghai), which is 3:00 AM to 3:00 PM PST',
    midnight: '00:00 UTC, which is 4:00 PM PST',
    resetsAt: 'Mar 4, 2026, 4:00 PM PST',
    nextRun: 'Mar 8, 2026, 10:00 PM PDT',
    evening: '2026-03-07T02:00:00.000Z',
  },
  {
    timezoneId: 'Asia/Kathmandu',
    locale: 'de-DE',
    name: 'GMT+5:45',
    offPeak: 'from 19:00 to 07:00 (Asia/Shanghai), which is 16:45 to 04:45 GMT+5:45',
    midnight: '00:00 UTC, which is 05:45 GMT+5:45',
    resetsAt: '5. März 2026, 05:45 GMT+5:45',
    nextRun: '9. März 2026, 10:45 GMT+5:45',
    evening: '2026-03-06T12:15:00.000Z',
  },
] as const;
/** A time in the fields of a form. */
const EVENING = '2026-03-06T18:00';
/** The texts of all times that are not in the zone of the reader, or do not name it. */
const FOREIGN_TIMES = `((timeZone, name) => {
  const format = new Intl.DateTimeFormat(undefined, {
    timeZone, year: 'numeric', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit', timeZoneName: 'short',
  });
  const times = [...document.querySelectorAll('time')];
  return { count: times.length, foreign: times.filter((one) => one.textContent !== format.format(new Date(one.dateTime))).map((one) => one.outerHTML) };
})`;

test.override('soukOptions', ({ demo }) => ({ upstreamUrl: demo.url, pages: PAGES }));
let souk: Souk;
let customer: Customer;
let schedule: string;

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
  customer = await signedIn(souk);
  const { json } = await customer.client.post('/api/schedules', {
    name: 'Every Monday',
    cron: '0 6 * * 1',
    timezone: 'Europe/Berlin',
    batch: { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B0C3CDEF04'] } },
  });
  schedule = `/account/schedules/${json.data.scheduleId}`;
});

describeInBrowser.for(READERS)('a reader in $timezoneId', (reader) => {
  let page: Page;
  test.beforeAll(async ({ openPage }) => {
    const { timezoneId, locale } = reader;
    page = await openPage({ session: customer.cookie, context: { timezoneId, locale } });
    await page.clock.setFixedTime(souk.clock.now());
  });

  /** The text of an element, with plain spaces. */
  const textOf = async (selector: string) =>
    ((await page.locator(selector).first().textContent()) ?? '').replaceAll(/\s+/g, ' ').trim();

  test('sees every time in the own zone, which is named', async () => {
    await customer.client.get('/api/market/product?domain=1&asins=B0C3CDEF01');
    for (const address of ['', '/jobs', '/schedules', '/keys', '/team', '/ledger']) {
      await page.goto(`/account${address}`);
      const found = await page.evaluate(`${FOREIGN_TIMES}(${JSON.stringify(reader.timezoneId)})`);
      expect({ address, ...(found as object) }).toEqual({
        address,
        count: expect.toSatisfy((n) => n > 0),
        foreign: [],
      });
    }
    await page.goto('/account');
    expect(await textOf('.meter:nth-of-type(2) time')).toBe(reader.resetsAt);
    await page.goto(schedule);
    expect(await textOf('dl li')).toBe(`Monday, 9 March 2026 at 06:00 in Europe/Berlin (${reader.nextRun})`);
    expect(faultsOf(page).errors).toEqual([]);
  });

  test('sees off-peak hours and resets in both zones', async () => {
    for (const address of ['/account', '/account/plans', '/pricing']) {
      await page.goto(address);
      expect({ address, text: await textOf('[data-hours]') }).toEqual({ address, text: reader.offPeak });
    }
    await page.goto('/account/keys/new');
    expect(await textOf('[data-hours]')).toBe(reader.midnight);
  });

  test('enters times in the own zone, and sees them again after a check', async () => {
    await page.goto('/account/batches/new');
    const deadline = page.getByLabel(`Deadline (${reader.name})`);
    await page.getByLabel('Items', { exact: true }).fill('B0C3CDEF05');
    await deadline.fill(EVENING);
    await page.locator('button[value=price]').click();
    await page.locator('output.notice').waitFor();
    expect(await deadline.inputValue()).toBe(EVENING);
    await page.locator('button[value=start]').click();
    await page.waitForURL(/\/batches\/[\da-f-]{36}$/);
    const { json } = await customer.client.get(`/api/batches/${page.url().split('/').at(-1)}`);
    expect(json.data.deadlineAt).toBe(reader.evening);

    await page.goto('/account/keys/new');
    const expires = page.getByLabel(`Expires at (${reader.name})`);
    await expires.fill(EVENING);
    await page.getByLabel('Name').fill(reader.timezoneId);
    await page.locator('main form button.primary').click();
    await page.locator('#new-key').waitFor();
    expect(await expires.inputValue()).toBe(EVENING);
    const { rows } = await souk.database.query('select expires_at as at from api_keys where name = $1', [
      reader.timezoneId,
    ]);
    expect(rows).toEqual([{ at: new Date(reader.evening) }]);

    await page.goto('/account/jobs');
    await page.getByLabel(`From (${reader.name})`).fill(EVENING);
    await page.locator('form.filters button').click();
    await page.waitForURL('**from=**');
    expect(new URL(page.url()).searchParams.get('from')).toBe(reader.evening);
    expect(await page.getByLabel(`From (${reader.name})`).inputValue()).toBe(EVENING);
  });
});
