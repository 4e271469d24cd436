import { expect } from 'vitest';
import { test } from '../../support/shared-souk-test.ts';
import type { AccountOptions } from '../../support/souk.ts';

const GENERAL = { wallet: 'general', needed: 2, remaining: 0 };

/** The clock stands at 10:00 UTC, an hour before the off-peak window of Shanghai opens. */
test.for<[string, AccountOptions, Record<string, unknown>, string | undefined]>([
  ['QUOTA_NO_SUBSCRIPTION', { plan: null }, { ...GENERAL, wallet: null, resetAt: null }, '3600'],
  [
    'QUOTA_OFF_PEAK_ONLY',
    { wallet: 'off_peak' },
    { ...GENERAL, wallet: 'off_peak', resetAt: '2026-03-04T11:00:00.000Z' },
    '3600',
  ],
  [
    'QUOTA_MINUTE_EXCEEDED',
    { plan: { minuteLimit: 1 } },
    { ...GENERAL, resetAt: '2026-03-04T10:01:00.000Z' },
    '60',
  ],
  [
    'QUOTA_DAILY_EXCEEDED',
    { plan: { dailyLimit: 1 } },
    { ...GENERAL, resetAt: '2026-03-05T00:00:00.000Z' },
    String(14 * 3600),
  ],
  [
    'QUOTA_MONTHLY_EXCEEDED',
    { plan: { monthlyLimit: 1 } },
    { ...GENERAL, resetAt: '2026-04-03T10:00:00.000Z' },
    String(30 * 24 * 3600),
  ],
  [
    'QUOTA_INSUFFICIENT_UNITS',
    { plan: { dailyLimit: 2 } },
    { ...GENERAL, remaining: 1, resetAt: '2026-03-05T00:00:00.000Z' },
    String(14 * 3600),
  ],
])(
  'returns units needed, units left and Retry-After with %s',
  async ([code, account, metadata, retryAfter], { souk }) => {
    const client = await souk.client(account);
    await client.get('/api/market/product?domain=1&asins=B00SPEND01');
    const refused = await client.get('/api/market/product?domain=1&asins=B00REFUSE1,B00REFUSE2');
    expect(refused.status).toBe(429);
    expect(refused.json).toEqual({ code, msg: expect.any(String), data: null, metadata });
    expect(refused.headers['retry-after']).toBe(retryAfter);
    expect(refused.headers['x-units-consumed']).toBe('0');
  },
);

/** Packs as `[wallet, units that are left]`. An off-peak one that is used up can be drawn on at any time of day. */
test.for<[string, AccountOptions, [string, number][], string, string | null]>([
  [
    'units of an off-peak pack',
    { plan: null },
    [
      ['general', 0],
      ['off_peak', 5],
    ],
    'QUOTA_OFF_PEAK_ONLY',
    '2026-03-04T11:00:00.000Z',
  ],
  [
    'a plan whose day is used up',
    { plan: { dailyLimit: 1 } },
    [['off_peak', 0]],
    'QUOTA_DAILY_EXCEEDED',
    '2026-03-05T00:00:00.000Z',
  ],
  ['nothing else', { plan: null }, [['off_peak', 0]], 'QUOTA_PACK_EXHAUSTED', null],
])(
  'beside a used-up pack, an account with %s is refused for its reason',
  async ([_, account, packs, code, resetAt], { souk }) => {
    const { accountId, key } = await souk.account(account);
    for (const [wallet, left] of packs)
      await souk.database.query(
        `insert into packs (account_id, wallet, total_units, remaining_units, rate_limit_per_minute, valid_from, valid_until,
         window_start, window_end, window_timezone)
       values ($1, $2, 5, $3, 100, $4, $5, $6, $7, $8)`,
        [
          accountId,
          wallet,
          left,
          new Date(souk.clock.now()),
          new Date(souk.clock.now() + 86_400_000),
          ...(wallet === 'off_peak' && left === 0 ? ['00:00', '23:59', 'UTC'] : [null, null, null]),
        ],
      );
    const client = souk.clientOf(key);
    await client.get('/api/market/product?domain=1&asins=B00SPEND03');
    const { status, json } = await client.get('/api/market/product?domain=1&asins=B00REFUSE4');
    expect([status, json.code, json.metadata?.resetAt]).toEqual([429, code, resetAt]);
  },
);

test('QUOTA_PACK_EXHAUSTED has no reset time, and a Retry-After of an hour', async ({ souk }) => {
  const { accountId, key } = await souk.account({ plan: null });
  await souk.database.query(
    `insert into packs (account_id, wallet, total_units, remaining_units, rate_limit_per_minute, valid_from, valid_until)
     values ($1, 'general', 1, 1, 100, $2, $3)`,
    [accountId, new Date(souk.clock.now()), new Date(souk.clock.now() + 86_400_000)],
  );
  const client = souk.clientOf(key);
  expect((await client.get('/api/market/product?domain=1&asins=B00SPEND02')).status).toBe(200);
  const refused = await client.get('/api/market/product?domain=1&asins=B00REFUSE3');
  expect(refused.json).toMatchObject({
    code: 'QUOTA_PACK_EXHAUSTED',
    metadata: { wallet: 'general', needed: 1, remaining: 0, resetAt: null },
  });
  expect(refused.headers['retry-after']).toBe('3600');
});
