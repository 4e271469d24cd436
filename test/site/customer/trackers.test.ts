import { expect } from 'vitest';
import { newAsin } from '../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import { test } from '../../support/souk-test.ts';
import { hasProducts, nextLook } from '../../support/trackers.ts';

const NEW = '/account/trackers/new';

test.override('soukOptions', { pages: PAGES });
let customer: Customer;
test.beforeAll(async ({ souk }) => {
  customer = await signedIn(souk);
});

const form = (asin: string) => ({
  ...{ name: 'Cheap <b>things</b>', domain: '3', subject: 'products', items: `${asin}\nB0TRACKED2` },
  ...{ cron: '0 */2 * * *', timezone: 'UTC', alertAtStart: 'true', quietHours: '5' },
  ...{
    type1: 'price_below',
    price1: 'new',
    value1: '19.99',
    type2: '',
    type3: 'rating_below',
    value3: '4.5',
  },
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
  expect(checked.text).toContain(
    'Each look costs at most 2 units for 2 items; an average day costs at most 24 units.',
  );
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
  expect(page.text).toMatch(/unknown\s*€18.50/);
  const [batch] = (await client.get(tracker.links.batches)).json.data.batches;
  expect(page.html).toContain(`/account/batches/${batch.batchId}`);
  // The page of a batch links to its schedule.
  expect((await visitor.get(`/account/schedules/${tracker.trackerId}`)).path).toBe(path);

  expect((await visitor.post(`${path}/pause`, {})).text).toContain('paused');
  expect((await visitor.post(`${path}/resume`, {})).text).toContain('Next look');
  expect((await visitor.post(`${path}/delete`, {})).path).toBe('/account/trackers');
  expect((await visitor.get(path)).status).toBe(404);
});

test.for([
  [{ cron: 'daily' }, 'must be a cron pattern'],
  [{ items: 'TOOSHORT' }, 'must be 10 letters or digits'],
  [{ value3: '5.1' }, 'must be an integer from 1 to 50 with rating_below, got 51'],
  [{ value1: 'cheap' }, 'must be an integer'],
  [{ subject: 'keywords' }, 'is no condition of keywords'],
  [{ subject: 'keywords', domain: '12' }, 'must be one of us, uk'],
] as const)('shows the errors of %j beside the form', async ([fields, problem]) => {
  const page = await sendForm({ ...form('B0TRACKED1'), ...fields, intent: 'save' });
  expect([page.path, page.status]).toEqual([NEW, 400]);
  expect(page.text).toContain(problem);
  expect(page.html).toContain('class="fault"');
});
