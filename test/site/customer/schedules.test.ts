import { expect } from 'vitest';
import { knowsEveryProduct } from '../../support/answers.ts';
import { type Customer, PAGES, signedIn } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

const NEW = '/account/schedules/new';

const WEEKLY = {
  name: 'Weekly <b>prices</b>',
  cron: '30 2 * * 1',
  timezone: 'Europe/Berlin',
  operation: 'market.product',
  'p.domain': '1',
  items: 'B0WEEKLY01\nB0WEEKLY02',
};

test.override('soukOptions', { pages: PAGES });
let souk: Souk;
let customer: Customer;
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  souk.upstream.on('product', knowsEveryProduct);
  customer = await signedIn(souk);
});

async function sendForm(fields: Record<string, string>, as = customer) {
  await as.visitor.get(NEW);
  return as.visitor.post(NEW, { ...WEEKLY, ...fields });
}

test('shows the next runs and the price of a schedule before it is saved', async () => {
  const page = await sendForm({ intent: 'check' });
  expect(page.status).toBe(200);
  expect(page.text.match(/Monday, \d+ \w+ \d{4} at 02:30 in Europe\/Berlin/g)).toHaveLength(5);
  expect(page.text).toContain('Each run costs at most 2 units for 2 items. The schedule has not been saved.');
  expect((await customer.client.get('/api/schedules')).json.data.schedules).toEqual([]);
});

test('saves, changes, pauses, resumes, runs and deletes a schedule', async () => {
  const saved = await sendForm({ intent: 'save' });
  const address = saved.path;
  expect(address).toMatch(/^\/account\/schedules\/[0-9a-f-]{36}$/);
  expect(saved.text).toContain('Weekly <b>prices</b>');
  expect(saved.html).not.toContain('<b>prices</b>');
  expect((await customer.visitor.get('/account/schedules')).text).toContain('Every Monday at 02:30');

  const form = await customer.visitor.get(`${address}/edit`);
  expect(form.text).toContain('This schedule has 2 items of market.product.');
  const change = {
    name: 'Daily',
    cron: '0 6 * * *',
    timezone: 'UTC',
    onlyChanges: 'true',
    runHours: '3',
    mailResults: 'true',
  };
  expect((await customer.visitor.post(`${address}/edit`, { ...change, intent: 'check' })).text).toContain(
    'The schedule has not been saved.',
  );
  const changed = await customer.visitor.post(`${address}/edit`, { ...change, intent: 'save' });
  expect(changed.path).toBe(address);
  expect(changed.text).toContain('2 items, at most 2 units, 3 hours');
  expect(changed.text).toContain('Only changes since the previous run');
  expect(changed.text).toContain('A link to the results when a run ends');

  const paused = await customer.visitor.post(`${address}/pause`, {});
  expect(paused.text).toContain('The schedule does not run while it is paused.');
  expect((await customer.visitor.post(`${address}/resume`, {})).text).toContain('at 06:00 in UTC');

  const batch = await customer.visitor.post(`${address}/run`, {});
  expect(batch.path).toMatch(/^\/account\/batches\//);
  expect(batch.html).toContain(address);
  expect((await customer.visitor.get(address)).html).toContain(batch.path);

  expect((await customer.visitor.post(`${address}/delete`, {})).path).toBe('/account/schedules');
  expect((await customer.visitor.get(address)).status).toBe(404);
});

test('a change without items changes the unit limit and the webhook of runs', async () => {
  const { visitor, client } = await signedIn(souk);
  await client.post('/api/webhooks/secret', {});
  const saved = await sendForm({ intent: 'save', runHours: '3' }, { ...customer, visitor });
  const change = {
    ...WEEKLY,
    items: '',
    intent: 'save',
    maxUnits: '500',
    webhook: 'https://example.com/hook',
  };
  const changed = await visitor.post(`${saved.path}/edit`, change);
  expect(changed.text).toContain('Maximum units per run 500');
  expect(changed.text).toContain('at most 2 units, 24 hours');
  const view = async () => (await client.get(saved.path.replace('/account/', '/api/'))).json.data;
  expect(await view()).toMatchObject({ maxUnits: 500, webhook: change.webhook, items: 2 });
  await visitor.post(`${saved.path}/edit`, { ...change, maxUnits: '', webhook: '' });
  expect(await view()).toMatchObject({ maxUnits: null, webhook: null, items: 2 });
});

test('spaces around a time zone are no part of it', async () => {
  const page = await sendForm({ intent: 'check', timezone: ' Europe/Berlin ' });
  expect(page.text).toContain('at 02:30 in Europe/Berlin');
});

test.each([
  [{ cron: 'every monday' }, 'must be a cron pattern'],
  [{ cron: '0 0 31 2 *' }, 'matches no date'],
  [{ timezone: 'Berlin' }, 'not a known time zone'],
  [{ name: '' }, 'must be'],
  [{ items: '' }, 'at least one line'],
  [{ items: 'TOOSHORT' }, 'asins'],
  [{ webhook: 'https://example.com/' }, 'secret'],
])('shows the errors of %j next to the form', async (fields, problem) => {
  for (const intent of ['check', 'save']) {
    const page = await sendForm({ intent, ...fields });
    expect(page.path).toBe(NEW);
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(page.status).toBeLessThan(500);
    expect(page.text).toContain(problem);
  }
});

test('shows the next runs of a pattern although another field is invalid', async () => {
  const page = await sendForm({ intent: 'check', items: '' });
  expect(page.text).toContain('Monday');
  expect(page.text).toContain('Correct the errors above.');
});
