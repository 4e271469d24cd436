import { expect } from 'vitest';
import type { TrackerView } from '../../../../src/batches/trackers/tracker.ts';
import { expectAccessible } from '../../../support/accessibility.ts';
import { describeInBrowser, faultsOf, screenshot } from '../../../support/browser.ts';
import { type Customer, expectPage, PAGES, signedIn } from '../../../support/customer.ts';
import { csvReport, load, type TestTerm } from '../../../support/reports.ts';
import { comesAbout } from '../../../support/schedules.ts';
import type { Souk } from '../../../support/souk.ts';
import { test } from '../../../support/souk-test.ts';
import { unitsUsed } from '../../../support/units.ts';
import { fieldIn } from '../../../support/visitor.ts';

test.override('soukOptions', { pages: PAGES });

const [FIRST, SECOND] = ['2026-02-14', '2026-02-21'] as const;

/** Terms `lamp 1` to `lamp N` and some others, in the order of their ranks. */
function report(week: string, lamps: number, others: readonly string[]): string {
  const names = [...Array.from({ length: lamps }, (_, i) => `lamp ${i + 1}`), ...others];
  const terms: TestTerm[] = names.map((term, i) => ({
    term,
    rank: i + 1,
    products: [
      ['B0SCREEN01', 'A lamp with a title', '12.5', '8'],
      ['B0SCREEN02', 'Another lamp', '7', '3'],
    ],
  }));
  return csvReport(week, terms);
}

let souk: Souk;
let customer: Customer;

test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  customer = await signedIn(souk);
  await load(souk.database, 'us', report(FIRST, 130, ['tent', 'red tent']));
});

const PAGE = '/explore/screener';

/** Makes the call of a page with filters. @returns the page with its data. */
async function shown(filters: Record<string, string>) {
  return customer.visitor.post(PAGE, { country: 'us', ...filters, view: 'terms' });
}

async function savedScreens(): Promise<TrackerView[]> {
  return (await customer.client.get('/api/trackers')).json.data.trackers;
}

test('states the price before it runs, then shows terms with their products, and the next page on request', async () => {
  const empty = await customer.visitor.get(PAGE);
  expect(empty.text).toContain('You see the cost before anything runs.');
  const priced = await customer.visitor.get(`${PAGE}?country=us&words=lamp&limit=100`);
  expect(priced.text).toContain('Show the terms (1 unit)');
  expect(await unitsUsed(customer.client)).toBe(0);
  const page = await shown({ words: 'lamp', limit: '100' });
  expect(page.text).toContain('130 terms of the week that ended on 2026-02-14, 100 on this page.');
  expect(page.text).toContain('1 unit charged');
  expect(page.html).toContain('/explore/product?domain=1&amp;asin=B0SCREEN01');
  expect(page.html).toMatch(/explore\/keyword\?country=us&amp;keyword=lamp/);
  expect(page.text).toContain('Next 100 rows (at most 1 unit)');
  const cursor = fieldIn(page.html, 'cursor');
  const next = await shown({ words: 'lamp', limit: '100', cursor });
  expect(next.text).toContain('lamp 101');
  expect(next.text).toContain('First page');
  expect(next.text).not.toContain('Next 100 rows');
  const csv = await customer.visitor.get(
    `${next.path.replace(/#.*/, '')}&download=terms&table=terms&format=csv`,
  );
  expect(csv.html).toContain('country,week,wordId,keyword,rank');
  expect(csv.html.trim().split('\n')).toHaveLength(31);
});

test('shows faults at their fields', async () => {
  const page = await shown({ rankMin: '9', rankMax: '3' });
  expectPage(page, 400, 'must not be below rankMin (9)');
  const words = await shown({ words: '!!' });
  expect(words.text).toContain('must have a letter or a digit');
});

test('saves a screen as a tracker, and lists what entered and left at its last run', async () => {
  const page = await shown({ words: 'tent', rankMax: '200', clickShareMin: '0.5', notWords: 'green, blue' });
  expect(page.text).toContain('Save this screen');
  const [, form = ''] = /<form[^>]*action="[^"]*trackers\/new"(.*?)<\/form>/s.exec(page.html) ?? [];
  const filters = Object.fromEntries(
    [...form.matchAll(/type="hidden" name="([^_"]+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
  expect(filters).toEqual({
    ...{ subject: 'screen', intent: 'save', country: 'us' },
    ...{ words: 'tent', rankMax: '200', clickShareMin: '0.5', notWords: 'green, blue' },
  });
  const fields = { ...filters, name: 'Tents', email: 'true' };
  const refused = await customer.visitor.post('/account/trackers/new', { ...fields, chat: 'nonsense' });
  expectPage(refused, 400, 'must be an address such as');
  expect(refused.html).toMatch(/name="notWords"[^>]*value="green, blue"/);
  const chat = 'https://hooks.slack.com/services/T0/B0/secret';
  const saved = await customer.visitor.post('/account/trackers/new', { ...fields, chat });
  const [tracker] = await savedScreens();
  expect(saved.path).toContain(`/trackers/${tracker?.trackerId}`);
  expect(saved.html).not.toContain('T0/B0/secret');
  expect(saved.text).toContain('hooks.slack.com/***');
  expect(tracker).toMatchObject({
    name: 'Tents',
    notify: ['webhook', 'chat', 'email'],
    screen: {
      country: 'us',
      words: ['tent'],
      notWords: ['blue', 'green'],
      rank: { max: 200 },
      clickShare: { min: 0.5 },
      sort: 'rank',
    },
  });
  await comesAbout(souk, async () => (await savedScreens())[0]?.lastScreen?.week === FIRST);
  await load(souk.database, 'us', report(SECOND, 130, ['tent', 'small tent']));
  await comesAbout(souk, async () => (await savedScreens())[0]?.lastScreen?.week === SECOND);
  const list = await customer.visitor.get(PAGE);
  expect(list.text).toMatch(/Saved screens.*Tents.*us: .*2026-02-21\s*2\s*1\s*1/s);
  const own = await customer.visitor.get(`/account/trackers/${tracker?.trackerId}`);
  expect(own.text).toContain('Since the week of 2026-02-14, 1 entered and 1 left.');
  expect(own.text).toContain('Left; not among the terms of this week; rank was 132');
  const edit = `/account/trackers/${tracker?.trackerId}/edit`;
  const renamed = {
    ...filters,
    limit: '100',
    sort: 'rank',
    notWords: 'blue, green',
    name: 'All tents',
    email: 'false',
  };
  await customer.visitor.post(edit, renamed);
  expect((await savedScreens())[0]).toMatchObject({
    name: 'All tents',
    chat: 'hooks.slack.com/***',
    screen: { words: ['tent'] },
    lastScreen: { week: SECOND, entered: 1 },
  });
  const removed = { ...renamed, presentChat: 'remove' };
  await customer.visitor.post(edit, removed);
  expect((await savedScreens())[0]).toMatchObject({ chat: null });

  const faulty = await customer.visitor.post(edit, { ...renamed, rankMin: '300' });
  expectPage(faulty, 400, 'max must not be below min (300)');
  await customer.visitor.post(edit, { ...renamed, words: '', rankMin: '2', limit: '250' });
  const [changed] = await savedScreens();
  expect(changed?.screen).toMatchObject({ rank: { min: 2, max: 200 }, limit: 250 });
  expect(changed?.screen).not.toHaveProperty('words');
  expect((await customer.visitor.get(edit)).html).toMatch(/name="rankMin"[^>]*value="2"/);
});

describeInBrowser('in a browser', () => {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ] as const)
    test(`sliders move their fields by key, and fields their sliders, at ${width} pixels`, async ({
      openPage,
    }) => {
      const page = await openPage({ session: customer.cookie, width, colorScheme });
      await page.goto(PAGE);
      const [field, slider] = [page.locator('#field-rankMax'), page.locator('[data-for=field-rankMax]')];
      await slider.waitFor();
      expect(await slider.getAttribute('aria-valuetext')).toBe('no bound');
      await slider.focus();
      for (let i = 0; i < 40; i += 1) await page.keyboard.press('ArrowLeft');
      const value = Number(await field.inputValue());
      expect(value).toBeGreaterThan(1_000);
      expect(value).toBeLessThan(100_000);
      await field.fill('');
      expect(await slider.inputValue()).toBe('100');
      await field.fill('50');
      expect(Number(await slider.inputValue())).toBeLessThan(40);
      await page.locator('#field-change4Min').fill('-20');
      await expectAccessible(page);
      await screenshot(page, `screener-form-${width}-${colorScheme}`);
      await page.locator('#field-change4Min').fill('');
      await page.locator('.filters button[type=submit]').click();
      await page.getByRole('button', { name: /^Show the terms/ }).click();
      await page.getByText('50 terms of the week').waitFor();
      await page.locator('summary', { hasText: 'Save this screen' }).click();
      const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
      expect(scrollWidth).toBe(width);
      await expectAccessible(page);
      await screenshot(page, `screener-${width}-${colorScheme}`);
      expect(faultsOf(page).errors).toEqual([]);
    });

  test('a new schedule has the time zone of the browser, and shows a pattern for other times only', async ({
    openPage,
  }) => {
    const context = { timezoneId: 'Europe/Berlin' };
    const page = await openPage({ session: customer.cookie, context });
    await page.goto('/account/trackers/new');
    expect(await page.locator('#field-timezone').inputValue()).toBe('Europe/Berlin');
    expect(await page.locator('#field-cron').isVisible()).toBe(false);
    await page.locator('#field-times').selectOption('custom');
    expect(await page.locator('#field-cron').isVisible()).toBe(true);
    await expectAccessible(page);
    await screenshot(page, 'tracker-new-presets');
  });
});
