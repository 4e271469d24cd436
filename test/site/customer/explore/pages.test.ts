import sharp from 'sharp';
import { beforeEach, expect, vi } from 'vitest';
import { expectUsable } from '../../../support/accessibility.ts';
import { newAsin, picture } from '../../../support/answers.ts';
import { describeInBrowser, faultsOf, type Page, screenshot } from '../../../support/browser.ts';
import { type Customer, expectPage, PAGES, signedIn } from '../../../support/customer.ts';
import type { Demo } from '../../../support/demo-provider.ts';
import { answersAsDemo, asDemo } from '../../../support/demo-upstream.ts';
import { withAllData } from '../../../support/explore-pages.ts';
import { csvReport, load } from '../../../support/reports.ts';
import { gate } from '../../../support/scripted-upstream.ts';
import type { Souk } from '../../../support/souk.ts';
import { test } from '../../../support/souk-test.ts';
import { unitsUsed } from '../../../support/units.ts';
import { words } from '../../../support/words.ts';

const PICTURES = 'https://images.test';
const ASIN = 'B0C3CDEF01';

const isForPictures = process.env.SOUK_SCREENSHOTS === '1';
const OTHER_PAGES = words(`
  product?domain=1&asin=B0C3CDEF01 finder?domain=1&rankMax=20000 categories?domain=1&category=200000
  deals?domain=1&priceType=1&dateRange=1 seller?domain=1&seller=AKT8ZJ45IBZW2X
  ranks?country=us today?geo=US
`);

/** Sums the layout shifts of a page; the sum follows when the frame after the present one is drawn. */
const MEASURE_SHIFT = `window.shift = 0;
  new PerformanceObserver((list) => { for (const { value } of list.getEntries()) window.shift += value; })
    .observe({ type: 'layout-shift', buffered: true });`;
const SHIFT = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => window.shift)`;

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;
let demo: Demo;

test.beforeAll(async ({ souk: opened, demo: openedDemo }) => {
  souk = opened;
  demo = openedDemo;
  answersAsDemo(souk.upstream, demo);
  customer = await signedIn(souk);
  await load(
    souk.database,
    'us',
    csvReport('2026-01-17', [{ term: 'tent', rank: 12, products: [[ASIN, 'A tent', '21.4', '9.8']] }]),
  );
});

describeInBrowser('the pages for looking at data', () => {
  // A page of each test would start a process and load the assets again.
  let page: Page;
  let openShown: (width?: number) => Promise<Page>;
  test.beforeAll(async ({ openPage }) => {
    openShown = async (width = 1280) => {
      const page = await openPage({ session: customer.cookie, width });
      const body = await picture(300, 300);
      await page.route(`${PICTURES}/**`, (route) => route.fulfill({ body, contentType: 'image/png' }));
      return page;
    };
    page = await openShown();
  });
  beforeEach(async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test('a product: each part shows its price, is charged once, and stays at its address', async () => {
    await page.goto('/explore');
    await page.getByText('Enter the ASIN of a product').waitFor();
    await screenshot(page, 'explore-product-empty');
    await page.getByLabel('ASIN').fill(ASIN);
    await page.getByRole('button', { name: 'Check cost' }).click();
    const before = await unitsUsed(customer.client);
    await page.getByRole('button', { name: 'Show the product (2 units)' }).click();
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    expect(await unitsUsed(customer.client)).toBe(before + 2);
    for (const name of ['offers', 'variations', 'picture'])
      await page.getByRole('button', { name: `Show the ${name}` }).click();
    await page.locator('img.picture').waitFor();
    const after = await unitsUsed(customer.client);
    await page.reload();
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    expect(await unitsUsed(customer.client)).toBe(after);
    await expectUsable(page, 'explore-product', [PICTURES]);
  });

  test('a chart: series, periods, zoom and the keyboard', async () => {
    await page.goto(`/explore/product?domain=1&asin=${ASIN}`);
    await page.getByRole('button', { name: 'Show the product' }).click();
    const plot = page.locator('.time-chart-plot');
    const text = () => plot.getAttribute('aria-valuetext');
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    const latest = await text();
    expect(latest).toMatch(/^\d{4}-\d\d-\d\d, .*Sales rank/);
    await page.getByRole('checkbox', { name: 'Sales rank' }).uncheck();
    await plot.press('ArrowLeft');
    expect(await text()).not.toContain('Sales rank');
    await plot.press('Home');
    // Three months of a year are shown first.
    expect(await page.locator('[data-days="91"]').first().getAttribute('aria-pressed')).toBe('true');
    expect(await plot.getAttribute('aria-valuenow')).toBe('75');
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await plot.press('Home');
    expect(await plot.getAttribute('aria-valuenow')).toBe('0');
    await page.getByRole('button', { name: 'Month', exact: true }).click();
    expect(await page.locator('[data-days="30"]').getAttribute('aria-pressed')).toBe('true');
    await plot.press('Home');
    expect(Number(await plot.getAttribute('aria-valuenow'))).toBeGreaterThan(90);
    await page.getByText('Show as a table').click();
    await page.getByRole('columnheader', { name: 'Sales rank' }).waitFor();
    expect(faultsOf(page).errors).toEqual([]);
  });

  test('a chart draws a value between gaps, and one without times does not stop the others', async () => {
    await page.goto(`/explore/product?domain=1&asin=${ASIN}`);
    await page.getByRole('button', { name: 'Show the product' }).click();
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    const added = await page.evaluate(`{
      const first = document.querySelector('.time-chart');
      const count = first.querySelectorAll('[data-series]').length;
      const add = (times, values) => {
        const figure = first.cloneNode(true);
        for (const name of ['drawn', 'drawnMs']) delete figure.dataset[name];
        figure.querySelector('.time-chart-plot').replaceChildren();
        for (const box of figure.querySelectorAll('[data-series]')) box.checked = true;
        const series = Array.from({ length: count }, () => ({ scale: 'rank', format: {}, times, values }));
        figure.dataset.chart = JSON.stringify({ isStepped: false, series });
        document.getElementById('main').append(figure);
        return figure;
      };
      const weeks = Array.from({ length: 104 }, (_, i) => (i === 0 ? 20_000_000 : 10_080));
      const figures = [add([], []), add(weeks, weeks.map((_, i) => (i === 100 ? 5 : null)))];
      const colours = (canvas) => {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3] > 200 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) count += 1;
        return count;
      };
      new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
        figures.map((figure) => {
          const canvas = figure.querySelector('canvas');
          return canvas === null ? null : colours(canvas) > 10;
        }));
    }`);
    expect(added).toEqual([null, true]);
    expect(faultsOf(page).errors).toEqual([]);
  });

  test('a chart shows the values at the pointer and saves what it shows as a picture', async () => {
    await page.goto(`/explore/product?domain=1&asin=${ASIN}`);
    await page.getByRole('button', { name: 'Show the product' }).click();
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    const tip = page.locator('.time-chart-tip');
    expect(await tip.isVisible()).toBe(false);
    await page.locator('.time-chart-plot').hover();
    expect(await tip.innerText()).toMatch(/^\d{4}-\d\d-\d\d\s+Price\s+\$[\d.]+\s+Sales rank\s+[\d,]+$/);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as PNG' }).click();
    const file = await download;
    expect(file.suggestedFilename()).toMatch(/^souk-[\w-]+-\d{4}-\d\d-\d\d\.png$/);
    const { width, height, format } = await sharp(await file.path()).metadata();
    expect([format, width > 900, height > 400]).toEqual(['png', true, true]);
  });

  test('the calculator shows the profit of the API while costs are typed, without a call', async () => {
    await page.goto(`/explore/product?domain=1&asin=${ASIN}`);
    await page.getByRole('button', { name: 'Show the product' }).click();
    await page.getByLabel('Your cost of the product').waitFor();
    const before = await unitsUsed(customer.client);
    const costs = { cost: '7.35', otherCosts: '0.5' };
    await page.getByLabel('Your cost of the product').fill(costs.cost);
    await page.getByLabel('Other costs of a sale').fill('.5');
    const shown = () =>
      page.locator('[data-result]').evaluateAll((all) => all.map((one) => one.textContent?.trim()));
    const typed = await shown();
    expect(await unitsUsed(customer.client)).toBe(before);
    const { json } = await customer.client.get(
      `/api/research/product?domain=1&asin=${ASIN}&${new URLSearchParams(costs)}`,
    );
    const { profit, margin, roi } = json.data.profit;
    expect(typed).toEqual([
      `${profit < 0 ? '-' : ''}$${Math.abs(profit).toFixed(2)}`,
      `${margin.toFixed(2)}%`,
      `${roi.toFixed(2)}%`,
    ]);
    // Without scripts, the form shows the same.
    await page.getByRole('button', { name: 'Calculate' }).click();
    await page.waitForURL(/cost=7\.35/);
    expect(await shown()).toEqual(typed);
    expect(await unitsUsed(customer.client)).toBe(before + 2);
  });

  // The other pages are made of the same parts; all of them are opened for pictures.
  test.for([
    'search?domain=1&term=pump',
    'trends?keyword=kettle,teapot&geo=US',
    'keyword?country=us&keyword=tent',
    'compare?domain=1&asins=B0C3CDEF01+B0C3CDEF02',
    ...(isForPictures ? OTHER_PAGES : []),
  ])('/explore/%s with data is usable', async (address) => {
    const { path } = await withAllData(souk, customer, `/explore/${address}`);
    await page.goto(path);
    for (const chart of await page.locator('.time-chart').all())
      await chart.and(page.locator('[data-drawn-ms]')).waitFor();
    for (const shape of await page.locator('.map use').all())
      expect((await shape.boundingBox())?.width).toBeGreaterThan(0);
    const name = address.replace(/\?.*/, '');
    await expectUsable(page, `explore-${name}`, [PICTURES]);
  });

  test.for([
    'product?domain=1&asin=B0C3CDEF01',
    'keyword?country=us&keyword=tent',
    'trends?keyword=kettle,teapot&geo=US',
  ])('/explore/%s does not move at 390 px while its chart is drawn', async (address) => {
    const { path } = await withAllData(souk, customer, `/explore/${address}`);
    const page = await openShown(390);
    await page.addInitScript(MEASURE_SHIFT);
    await page.goto(path);
    await page.locator('.time-chart[data-drawn-ms]').first().waitFor();
    expect(await page.evaluate(SHIFT)).toBe(0);
    await page.context().close();
  });

  test('the axis of a rank has whole numbers', async () => {
    const address = '/explore/keyword?country=us&keyword=tent';
    const { path } = await withAllData(souk, customer, address);
    const page = await openShown();
    await page.addInitScript(`window.drawn = [];
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.drawn.push(text);
        return fillText.call(this, text, ...rest);
      };`);
    await page.goto(path);
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    const drawn = (await page.evaluate('window.drawn')) as string[];
    expect(drawn).toContain('12');
    // The percentages next to it have other steps.
    expect(drawn.filter((text) => /^1[123]\.[1-46-9]|^1[13]\.5/.test(text))).toEqual([]);
    await page.context().close();
  });

  test('the form of the finder accepts stars and prices with decimals', async () => {
    await page.goto('/explore/finder');
    await page.getByLabel('Stars from').fill('4.3');
    await page.getByLabel('Price from').fill('19.99');
    await page.getByRole('button', { name: 'Check cost' }).click();
    await page.getByRole('button', { name: 'Find products (' }).waitFor();
  });

  test('a call that runs is shown as loading, and its data when it has ended', async () => {
    const { reached, open } = gate();
    souk.upstream.on('product', async (...call) => {
      await reached;
      return asDemo(demo)(...call);
    });
    const calls = souk.upstream.callsTo('product').length;
    await page.goto('/explore/product?domain=1&asin=B0C3CDEF05');
    const clicked = page.getByRole('button', { name: 'Show the product' }).click();
    await souk.upstream.received(calls + 1, 'product');
    souk.clock.advance(5_000);
    await clicked;
    await page.getByText('Loading').waitFor();
    await screenshot(page, 'explore-product-loading');
    open();
    await page.locator('.time-chart[data-drawn-ms]').waitFor();
    await page.getByRole('button', { name: 'Show the offers' }).waitFor();
    souk.upstream.on('product', asDemo(demo));
  });
});

test('a visitor signs in first and returns to the page', async ({ souk: { clientOf } }) => {
  const answer = await clientOf('').get('/explore/product?asin=B0C3CDEF01');
  expect([answer.status, answer.headers.location]).toEqual([
    303,
    '/sign-in?to=%2Fexplore%2Fproduct%3Fasin%3DB0C3CDEF01',
  ]);
});

test('data that has expired is marked, and can be fetched again for the stated price', async ({ redis }) => {
  const asin = 'B0C3CDEF04';
  const address = `/explore/product?domain=1&asin=${asin}`;
  await customer.visitor.get(address);
  const page = await customer.visitor.post('/explore/product', { domain: '1', asin, view: 'product' });
  expect(page.text).toContain('2 units charged');
  await redis.del(...(await redis.keys(`${souk.redisNamespace}:answer:*`)));
  souk.clock.advance(6 * 60_000);
  const expired = await customer.visitor.get(page.path);
  expectPage(expired, 200, 'This answer has expired. Fetch again (2 units)');
  expect(expired.text).not.toContain('Nothing was charged');
  // A file without rows would be taken for data.
  const file = await customer.visitor.get(`${page.path}&download=product&format=csv`);
  expect([file.path, file.text]).toEqual([page.path, expect.stringContaining('Fetch again')]);
  const { searchParams } = new URL(page.path, 'http://souk');
  const again = await customer.visitor.post('/explore/product', {
    ...Object.fromEntries(searchParams),
    view: 'product',
  });
  expect(again.text).toContain('2 units charged');
});

test('the weekly ranks of the page and of the API have the same columns, with site and week', async () => {
  const { path } = await withAllData(souk, customer, '/explore/ranks?country=us');
  const file = await customer.visitor.get(`${path}&download=ranks&format=csv`);
  const api = await customer.client.get('/api/aba/rank?country=us&limit=1000&format=csv');
  expect(file.html.trim().split('\n')).toEqual(api.text.trim().split('\n'));
  expect(api.text).toMatch(/^country,reportDate,wordId,keyword,rank,.*\nus,2026-01-17,\d+,tent,12,/);
});

test('an invalid ASIN has its error in the form', async () => {
  const { html } = await customer.visitor.get('/explore/product?domain=1&asin=short');
  expect(html).toContain('id="field-asin-fault"');
});

test('only these pages load pictures of the image host', async () => {
  const policyOf = async (path: string) =>
    (await customer.visitor.get(path)).headers['content-security-policy'];
  expect(await policyOf('/explore/product')).toContain(`img-src 'self' ${PICTURES} data:`);
  expect(await policyOf('/account')).not.toContain(PICTURES);
});

test('the schedule form starts with the call, and a CSV file has the history', async () => {
  const address = `/explore/product?domain=1&asin=${ASIN}`;
  await customer.visitor.get(address);
  const page = await customer.visitor.post('/explore/product', { domain: '1', asin: ASIN, view: 'product' });
  const [, link = ''] = /href="(\/account\/schedules\/new[^"]+)"/.exec(page.html) ?? [];
  const form = await customer.visitor.get(link.replaceAll('&amp;', '&'));
  expect(form.text).toContain(`"asin":"${ASIN}"`);
  const [, csv = ''] = /href="([^"]+download=product[^"]+)" download>Download CSV/.exec(page.html) ?? [];
  const file = await customer.visitor.get(csv.replaceAll('&amp;', '&'));
  expect(file.headers['content-type']).toBe('text/csv; charset=utf-8');
  const day = new Date(souk.clock.now()).toISOString().slice(0, 10);
  expect(file.headers['content-disposition']).toBe(`attachment; filename="souk-daily-us-${ASIN}-${day}.csv"`);
  expect(file.html).toMatch(/^asin,country,day,currency,price,rank,offers,rating\nB0C3CDEF01,us,20\d\d-/);
});

async function choose(units: number): Promise<void> {
  await customer.visitor.get('/profile');
  await customer.visitor.post('/profile/explore', { units: String(units) });
}

const ask = (asin: string) =>
  customer.visitor.post('/explore/product', { domain: '10', asin, intent: 'direct' });

test('a call of at most the chosen units is made without showing its cost first', async () => {
  await choose(1);
  const { html, text } = await customer.visitor.get('/explore/product');
  expect(text).toContain('Show (at most 1 unit)');
  expect(html).toContain('name="intent" value="direct"');
  const before = await unitsUsed(customer.client);
  const page = await ask('B0C3CDEF01');
  expect(page.text).toContain('1 unit charged');
  expect(await unitsUsed(customer.client)).toBe(before + 1);
});

test('a call that costs more shows its cost, and nothing is charged', async () => {
  await choose(1);
  await customer.visitor.get('/explore/compare');
  const before = await unitsUsed(customer.client);
  const page = await customer.visitor.post('/explore/compare', {
    domain: '1',
    asins: `${newAsin()} ${newAsin()}`,
    intent: 'direct',
  });
  expect(page.text).toContain('Compare (2 units)');
  expect(await unitsUsed(customer.client)).toBe(before);
});

test('without the choice, a form that asks for it is answered with the cost', async () => {
  await choose(0);
  expect((await customer.visitor.get('/explore/product')).text).toContain('Check cost');
  const before = await unitsUsed(customer.client);
  expect((await ask(newAsin())).text).toContain('Show the product (1 unit)');
  expect(await unitsUsed(customer.client)).toBe(before);
  await choose(3);
  expect((await customer.visitor.get('/profile')).html).toMatch(/<option value="0" selected/);
});

test('a list can be fetched with the details of its first part, for the sum that the button states', async () => {
  const form = { domain: '1', rankMax: '20000' };
  const offered = await customer.visitor.get(`/explore/finder?${new URLSearchParams(form)}`);
  expect(offered.text).toContain('Find them with details of the first 30 (at most 31 units)');
  const before = await unitsUsed(customer.client);
  const page = await customer.visitor.post('/explore/finder', { ...form, view: 'found', more: '1' });
  expect(page.text).toContain('30 units charged');
  expect(page.html).not.toContain('name="view"');
  expect(await unitsUsed(customer.client)).toBe(before + 31);
});

test('shows an account at most 32 MiB of answers a minute, others theirs', async ({ souk, upstream }) => {
  const largeAsin = newAsin();
  upstream.on('product', ({ params }) => {
    const asin = params.asin ?? '';
    const description = 'x'.repeat(asin === largeAsin ? 3_500_000 : 10);
    return {
      json: { products: [{ asin, domainId: 1, productType: 0, title: 'Thing', csv: [], description }] },
    };
  });
  const shown = async (asin: string) => {
    const { visitor } = await signedIn(souk);
    const form = { domain: '1', asin };
    const first = await visitor.post('/explore/product', { ...form, view: 'product' });
    const { searchParams } = new URL(first.path, 'http://souk');
    const { path } = await visitor.post('/explore/product', {
      ...Object.fromEntries(searchParams),
      view: 'history',
    });
    const see = () => visitor.get(path);
    await vi.waitFor(async () => expect((await see()).html).not.toContain('aria-busy="true"'), 60_000);
    return see;
  };
  const [seeLarge, seeSmall] = [await shown(largeAsin), await shown(newAsin())];
  const statuses: number[] = [];
  // 21 of them are more than the answers of two minutes, because a second minute may begin on a slow machine.
  for (let n = 0; n < 21; n += 1) statuses.push((await seeLarge()).status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  expect((await seeSmall()).status).toBe(200);
});
