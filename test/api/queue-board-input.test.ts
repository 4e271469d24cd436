import { expect } from 'vitest';
import { test } from '../support/souk-test.ts';
import { words } from '../support/words.ts';

const TOKEN = 'only-for-the-operator';

test.override('soukOptions', { workers: 0, operator: { adminToken: TOKEN } });

const ODD = [
  ...words('%c0%ae %25c0%25ae %00 nothing -1 1e99'),
  '',
  '%F0%9F%92%A5',
  '__proto__',
  'constructor',
];
const PARAMETERS = ['activeQueue', 'status', 'page', 'jobsPerPage'];
const PATHS = words(`
  /api/queues/ODD /api/queues/ODD/1 /api/queues/market/ODD /api/queues/market/ODD/logs
  /api/queues/market/ODD/flow /api/queues/market/metrics?type=ODD /api/queues/market/metrics/ODD
  /queue/ODD /queue/market/ODD /static/ODD /api/ODD
`);

const ADDRESSES = ODD.flatMap((odd) => [
  ...PARAMETERS.map((name) => `/api/queues?${name}=${odd}`),
  ...PARAMETERS.map((name) => `/api/queues?activeQueue=market&${name}=${odd}`),
  ...PATHS.map((path) => path.replace('ODD', odd)),
]);

test('returns no 5xx for unusual addresses of the queue board', async ({ souk }) => {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const failed: unknown[] = [];
  for (const address of ADDRESSES) {
    const { status, text } = await souk.clientOf('').raw(`/admin/queues${address}`, { headers });
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
  const headers = { authorization: `Bearer ${TOKEN}` };
  const reply = await souk.clientOf('').raw(`/admin/queues/api/queues?${query}`, { headers });
  expect(reply.status).toBe(status);
});
