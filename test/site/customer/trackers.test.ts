import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { type Customer, expectPage, PAGES, signedIn } from '../../support/customer.ts';
import { comesAbout } from '../../support/schedules.ts';
import { test } from '../../support/souk-test.ts';
import { createTracker, everyTwoHours, hasProducts, nextLook, trackerNow } from '../../support/trackers.ts';

const NEW = '/account/trackers/new';

test.override('soukOptions', { pages: PAGES });
let customer: Customer;
test.beforeAll(async ({ souk }) => {
  customer = await signedIn(souk);
});

const form = (asin: string) => ({
  name: 'Cheap <b>things</b>',
  domain: '3',
  subject: 'products',
  items: `${asin}\nB0TRACKED2`,
  cron: '0 */2 * * *',
  timezone: 'UTC',
  alertAtStart: 'true',
  quietHours: '5',
  type1: 'price_below',
  price1: 'new',
  value1: '19.99',
  type2: '',
  type3: 'rating_below',
  value3: '4.5',
});

async function sendForm(fields: Record<string, string>) {
  await customer.visitor.get(NEW);
  return customer.visitor.post(NEW, fields);
}

test('shows the price of a tracker, saves it, shows its alerts, pauses and deletes it', async ({
  souk,
  upstream,
}) => {
  const { client, visitor } = customer;
  const asin = newAsin();
  upstream.on('product', hasProducts(new Map([[asin, { new: 1850, rating: 46 }]])));
  const checked = await sendForm({ ...form(asin), intent: 'check' });
  expect(checked.text).toContain('At most 2 units per check of 2 items, at most 24 per day on average.');
  expect((await client.get('/api/trackers')).json.data.trackers).toEqual([]);

  const { path, text, html } = await sendForm({ ...form(asin), intent: 'save' });
  expect(path).toMatch(/^\/account\/trackers\/[0-9a-f-]{36}$/);
  expect(text).toContain('New price below €19.99');
  expect(text).toContain('Rating below 4.5');
  expect(html).not.toContain('<b>things</b>');
  const [tracker] = (await client.get('/api/trackers')).json.data.trackers;
  expect(tracker).toMatchObject({ domain: 3, quietHours: 5, conditions: [{ value: 1999 }, { value: 45 }] });
  expect((await visitor.get('/account/trackers')).html).toContain(path);

  await nextLook(souk, client, tracker);
  const page = await visitor.get(path);
  expect(page.text).toContain(`Thing ${asin}`);
  expect(page.html).toMatch(
    new RegExp(`/images/I/${asin}.jpg.*/explore/product\\?domain=3&amp;asin=${asin}`, 's'),
  );
  expect(page.html).toContain('aria-label="From €18.50 on 2026-03-04 to €18.50, 0 changes"');
  expect(page.text).toMatch(/-€1.49\s*-7 %/);
  const all = await visitor.get('/account/trackers');
  expect(all.text).toMatch(new RegExp(`Tracked products and keywords.*Thing ${asin}.*Cheap.*€18.50`, 's'));
  expect(page.text).toMatch(/unknown\s*€18.50/);
  const [batch] = (await client.get(tracker.links.batches)).json.data.batches;
  expect(page.html).toContain(`/account/batches/${batch.batchId}`);
  // The page of a batch links to its schedule.
  expect((await visitor.get(`/account/schedules/${tracker.trackerId}`)).path).toBe(path);

  expect((await visitor.post(`${path}/pause`, {})).text).toContain('paused');
  expect((await visitor.post(`${path}/resume`, {})).text).toContain('Next check');
  expect((await visitor.post(`${path}/delete`, {})).path).toBe('/account/trackers');
  expect((await visitor.get(path)).status).toBe(404);
});

test('shows a tracker in its form, changes it, and looks now', async ({ souk, upstream }) => {
  const { client, visitor } = customer;
  const asin = newAsin();
  upstream.on('product', hasProducts(new Map([[asin, { new: 1850, rating: 46 }]])));
  const drops = [10, 20, 30, 40].map((value) => ({ type: 'price_drop', value, days: 30 }));
  const tracker = await createTracker(client, {
    ...everyTwoHours([asin], { domain: 3, notify: [], webhook: null, maxUnits: 7 }),
    conditions: [{ type: 'price_below', price: 'used', value: 1999 }, ...drops],
  });
  const page = `/account/trackers/${tracker.trackerId}`;
  const { html, text } = await visitor.get(`${page}/edit`);
  expect(text).toContain('This tracker has 1 product.');
  expect(html).toMatch(/name="value1"[^>]*value="19.99"/);
  expect(html).toMatch(/name="value5"[^>]*value="40"/);
  expect(html).toContain('name="type6"');

  const fields = {
    name: 'Renamed',
    domain: '3',
    items: '',
    cron: tracker.cron ?? '',
    timezone: 'UTC',
    maxUnits: '',
    type1: 'price_below',
    price1: 'used',
    value1: '25',
    type5: 'price_drop_30',
    value5: '40',
  };
  const checked = await visitor.post(`${page}/edit`, { ...fields, intent: 'check' });
  expect(checked.text).toContain('At most 1 unit per check of 1 item');
  expect((await trackerNow(client, tracker)).name).toBe(tracker.name);
  expect((await visitor.post(`${page}/edit`, { ...fields, intent: 'save' })).path).toBe(page);
  expect(await trackerNow(client, tracker)).toMatchObject({
    name: 'Renamed',
    items: 1,
    domain: 3,
    maxUnits: null,
    notify: [],
    quietHours: 0,
    conditions: [
      { type: 'price_below', price: 'used', value: 2500 },
      { type: 'price_drop', price: 'new', value: 40, days: 30 },
    ],
  });
  const refused = await visitor.post(`${page}/edit`, { ...fields, domain: '2', intent: 'save' });
  expectPage(refused, 400, 'is required with domain');

  expect((await visitor.post(`${page}/run`, {})).path).toBe(page);
  await comesAbout(souk, async () => (await trackerNow(client, tracker)).lastRun?.state === 'finished');
  expect((await trackerNow(client, tracker)).lastRun).toMatchObject({ trigger: 'manual' });
});

test.for([
  [{ cron: 'daily' }, 'must be a cron pattern'],
  [{ items: 'TOOSHORT' }, 'must be 10 letters or digits'],
  [{ value3: '5.1' }, 'must be an integer from 1 to 50 with rating_below, got 51'],
  [{ value1: 'cheap' }, 'must be an integer'],
  [{ subject: 'keywords' }, 'is no condition of keywords'],
  [{ subject: 'keywords', domain: '12' }, 'must be one of us, uk'],
] as const)('shows the errors of %j next to the form', async ([fields, problem]) => {
  const page = await sendForm({ ...form('B0TRACKED1'), ...fields, intent: 'save' });
  expect([page.path, page.status]).toEqual([NEW, 400]);
  expect(page.text).toContain(problem);
  expect(page.html).toContain('class="fault"');
});
