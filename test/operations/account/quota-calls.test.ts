import { expect } from 'vitest';
import { test } from '../../support/shared-souk-test.ts';

test('returns the same figures from /api/quota and /api/token after every call, and ignores parameters', async ({
  souk,
}) => {
  const client = await souk.client({ plan: { minuteLimit: 10, dailyLimit: 50, monthlyLimit: null } });
  await client.get('/api/market/product?domain=1&asins=B00QUOTA01,B00QUOTA02');
  const [quota, token] = [await client.get('/api/quota?domain=7&page=x'), await client.get('/api/token')];
  expect(token.json).toEqual(quota.json);
  expect(quota.json).toMatchObject({
    code: '0000',
    data: {
      serverTime: new Date(souk.clock.now()).toISOString(),
      offPeakWindow: { start: '19:00', end: '07:00', timezone: 'Asia/Shanghai' },
      activeBilling: 'general',
      activeBillingTrack: 'legacy',
      nextCallRejectReason: null,
      nextCallRejectMessage: null,
      keyWarning: null,
      general: {
        subscribed: true,
        quantity: 1,
        minute: { limit: 10, used: 1, remaining: 9 },
        daily: { limit: 50, used: 2, remaining: 48 },
        monthly: { limit: null, used: 2, remaining: null },
      },
      off_peak: { subscribed: false },
      packs: { subscribed: false, totalRemainingUnits: 0, earliestValidUntil: null, items: [] },
    },
  });
});

test('reading the quota is free, not limited and counts as no usage', async ({ souk }) => {
  const { accountId, key } = await souk.account({ plan: { minuteLimit: 1 } });
  const client = souk.clientOf(key);
  for (let i = 0; i < 5; i += 1) {
    const reply = await client.get(i % 2 ? '/api/quota' : '/api/token');
    expect([reply.status, reply.headers['x-units-consumed']]).toEqual([200, '0']);
    expect(reply.json.data.general.minute).toEqual({ limit: 1, used: 0, remaining: 1 });
  }
  const { rowCount } = await souk.database.query('select from calls where account_id = $1', [accountId]);
  expect(rowCount).toBe(0);
});
