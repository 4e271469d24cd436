import { expect } from 'vitest';
import { hasDeals } from '../support/answers.ts';
import type { RequestOptions } from '../support/client.ts';
import { gate } from '../support/scripted-upstream.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { unitsUsed } from '../support/units.ts';
import { words } from '../support/words.ts';

const TOKEN = 'only-for-the-operator';
const bearer = { authorization: `Bearer ${TOKEN}` };
const asPassword = (password: string) => ({
  authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
});
test.override('soukOptions', { operator: { adminToken: TOKEN }, gateway: { trustProxy: 'loopback' } });

const ask = (souk: Souk, path: string, options: RequestOptions = {}) =>
  souk.clientOf('').raw(`/admin/queues${path}`, options);

test('/admin returns 404 without ADMIN_TOKEN', async ({ openAnother }) => {
  const plain = await openAnother({ workers: 0 });
  for (const path of ['/admin', '/admin/queues', '/admin/queues/', '/admin/queues/api/queues']) {
    const reply = await plain.clientOf('').raw(path, { headers: bearer });
    expect([path, reply.status, reply.json.code]).toEqual([path, 404, 'NOT_FOUND']);
  }
});

const PATHS = ['', '/', '/api/queues', '/queue/market', '/static/images/logo.svg'];

test.for(PATHS)('%s returns 401 without the token, and asks a browser for it', async (path, { souk }) => {
  for (const headers of [{}, { authorization: 'Bearer only-for-the-operatoR' }, asPassword('guess')]) {
    // Incorrect tokens count against the network they come from.
    const from = { 'x-forwarded-for': '192.0.2.1' };
    const reply = await ask(souk, path, { headers: { ...headers, ...from } });
    expect([reply.status, reply.json.code]).toEqual([401, '4001']);
    expect(reply.headers['www-authenticate']).toMatch(/^Basic /);
  }
  const customer = await souk.account();
  expect((await ask(souk, path, { headers: { 'x-api-key': customer.key } })).status).toBe(401);
});

test.for(PATHS)('%s opens with the token as bearer or password', async (path, { souk }) => {
  expect((await ask(souk, path, { headers: bearer })).status).toBe(200);
  expect((await ask(souk, path, { headers: asPassword(TOKEN) })).status).toBe(200);
});

test('the page loads files from the gateway only', async ({ souk }) => {
  const page = await ask(souk, '', { headers: bearer });
  expect(page.headers['content-security-policy']).toMatch(/^default-src 'self'; (?!.*https?:)/);
  expect(page.text).not.toMatch(/<(?:link|script)[^>]*https?:/);
  const files = [...page.text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => file);
  expect(files.length).toBeGreaterThan(3);
  for (const file of files)
    expect([file, (await ask(souk, `/${file}`, { headers: bearer })).status]).toEqual([file, 200]);
});

test('the page links to the console', async ({ souk }) => {
  const page = await ask(souk, '', { headers: bearer });
  expect(page.text).toMatch(/<a href="\/admin"[^>]*>Operator console<\/a><\/body>/);
});

test('shows all queues', async ({ souk }) => {
  const reply = await ask(souk, '/api/queues', { headers: bearer });
  const { queues } = JSON.parse(reply.text) as { queues: { name: string; hasWorkers: boolean }[] };
  expect(queues.map(({ name }) => name)).toEqual(
    words(`
    market lightning storefront graph keywords trends exports test batch
  `),
  );
});

test('a job that the operator deletes is queued again, and its call succeeds', async ({ souk }) => {
  const client = await souk.client();
  const working = gate();
  souk.upstream.on('lightningdeal', async (call, response) => {
    await working.reached;
    return hasDeals([])(call, response);
  });
  const jobIds: string[] = [];
  // Two calls run at a time, so the third waits.
  for (const domain of [1, 2, 3]) {
    const reply = await client.get(`/api/market/lightningdeal?domain=${domain}&async=1`);
    jobIds.push(reply.json.data.jobId);
  }
  await souk.upstream.received(2, 'lightningdeal');
  const [, , last = ''] = jobIds;
  const path = `/api/queues/lightning/${last}`;
  expect(JSON.parse((await ask(souk, path, { headers: bearer })).text)).toMatchObject({ job: { id: last } });
  expect((await ask(souk, `${path}/clean`, { method: 'PUT', headers: bearer })).status).toBe(204);
  expect((await ask(souk, path, { headers: bearer })).status).toBe(404);

  working.open();
  souk.clock.advance(11_000);
  const [worker] = souk.workers;
  await worker?.reconcile();
  for (const jobId of jobIds) {
    const result = await client.get(`/api/jobs/${jobId}/result?wait=20`);
    expect([result.status, result.json.code]).toEqual([200, '0000']);
  }
  expect(await unitsUsed(client)).toBe(1_500);
});

test('refuses requests from pages of other sites', async ({ souk }) => {
  const pause = (site: string) =>
    ask(souk, '/api/queues/graph/pause', {
      method: 'PUT',
      headers: { ...asPassword(TOKEN), 'sec-fetch-site': site },
    });
  const isPaused = async () => {
    const { text } = await ask(souk, '/api/queues', { headers: bearer });
    const { queues } = JSON.parse(text) as { queues: { name: string; isPaused: boolean }[] };
    return queues.find(({ name }) => name === 'graph')?.isPaused;
  };
  for (const site of ['cross-site', 'same-site']) expect((await pause(site)).status).toBe(403);
  expect(await isPaused()).toBe(false);
  expect((await pause('same-origin')).status).toBe(200);
  expect(await isPaused()).toBe(true);
  await ask(souk, '/api/queues/graph/resume', { method: 'PUT', headers: bearer });
  expect(await isPaused()).toBe(false);
});

test('the log does not hold the token', async ({ souk }) => {
  await ask(souk, '', { headers: bearer });
  await ask(souk, '', { headers: asPassword(TOKEN) });
  const log = souk.logLines.join('');
  expect(log).toContain('/admin/queues');
  for (const text of [TOKEN, Buffer.from(`admin:${TOKEN}`).toString('base64')])
    expect(log).not.toContain(text);
});

const ODD = [
  ...words('%c0%ae %25c0%25ae %00 nothing -1 1e99'),
  '',
  '%F0%9F%92%A5',
  '__proto__',
  'constructor',
];
const PARAMETERS = ['activeQueue', 'status', 'page', 'jobsPerPage'];
const ODD_PATHS = words(`
  /api/queues/ODD /api/queues/ODD/1 /api/queues/market/ODD /api/queues/market/ODD/logs
  /api/queues/market/ODD/flow /api/queues/market/metrics?type=ODD /api/queues/market/metrics/ODD
  /queue/ODD /queue/market/ODD /static/ODD /api/ODD
`);

const ADDRESSES = ODD.flatMap((odd) => [
  ...PARAMETERS.map((name) => `/api/queues?${name}=${odd}`),
  ...PARAMETERS.map((name) => `/api/queues?activeQueue=market&${name}=${odd}`),
  ...ODD_PATHS.map((path) => path.replace('ODD', odd)),
]);

test('returns no 5xx for unusual addresses of the queue board', async ({ souk }) => {
  const failed: unknown[] = [];
  for (const address of ADDRESSES) {
    const { status, text } = await ask(souk, address, { headers: bearer });
    if (status >= 500) failed.push([address, status, text]);
  }
  expect(failed).toEqual([]);
});

test.for([
  ['activeQueue=%c0%ae', 400],
  ['activeQueue=nothing', 400],
  ['status=%00', 400],
  ['page=0', 400],
  ['jobsPerPage=100000', 400],
  ['activeQueue=market&status=latest&page=1&jobsPerPage=10', 200],
  ['activeQueue=market&status=waiting-children', 200],
] as const)('the queue list with %s returns status %i', async ([query, status], { souk }) => {
  expect((await ask(souk, `/api/queues?${query}`, { headers: bearer })).status).toBe(status);
});
