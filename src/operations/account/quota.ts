import { z } from 'zod';
import { SCHEMA_NAMES } from '../answers.ts';
import { defineLocal } from '../define.ts';

export const WALLETS = ['general', 'off_peak'] as const;

const time = (of: string) => z.iso.datetime().describe(of);

const window = z
  .object({
    start: z.string().describe('HH:MM, local time'),
    end: z.string().describe('HH:MM, exclusive; the window may cross midnight'),
    timezone: z.string().describe('IANA time zone'),
  })
  .register(SCHEMA_NAMES, { id: 'OffPeakWindow' });

const bucket = z
  .object({
    limit: z.int().nullable().describe('null if unlimited'),
    used: z.int(),
    remaining: z.int().nullable().describe('null if unlimited'),
  })
  .register(SCHEMA_NAMES, { id: 'QuotaBucket' });

const subscription = z
  .object({
    subscribed: z.literal(true),
    plan: z.object({ id: z.int(), name: z.string() }),
    subscriptionEnd: time('End of the current period'),
    quantity: z.int().describe('Quantity of the plan that was bought'),
    minute: bucket.describe('Calls in this minute'),
    daily: bucket.describe('Units in this day (UTC)'),
    monthly: bucket.describe('Units in this month, counted from the start of the subscription'),
    resetAt: z.object({
      minute: time('End of this minute'),
      daily: time('End of this day'),
      monthly: time('End of this month'),
    }),
    window: window.optional(),
  })
  .register(SCHEMA_NAMES, { id: 'SubscriptionQuota' });

const wallet = z.union([subscription, z.object({ subscribed: z.literal(false) })]);

const pack = z
  .object({
    id: z.int(),
    planType: z.enum(WALLETS),
    totalUnits: z.int(),
    remainingUnits: z.int(),
    remainingRatio: z.number().min(0).max(1),
    rateLimitPerMinute: z.int(),
    validUntil: time('When the pack expires'),
    window: window.optional(),
    inWindow: z.boolean().optional().describe('Whether the window of the pack is open now'),
  })
  .register(SCHEMA_NAMES, { id: 'PackQuota' });

const key = z
  .object({
    id: z.int(),
    prefix: z.string().describe('The start of the key'),
    name: z.string().nullable(),
    scopes: z
      .array(z.string())
      .nullable()
      .describe('What the key may do; null: everything but managing keys'),
    capDay: z.int().nullable().describe('Units that it may use in a day (UTC); null: no cap'),
    capMonth: z.int().nullable().describe('Units that it may use in a month (UTC); null: no cap'),
    used: z
      .object({ day: z.int(), month: z.int() })
      .describe('Units that it has reserved and been charged in this day and month (UTC)'),
    expiresAt: time('When the key stops working').nullable(),
  })
  .register(SCHEMA_NAMES, { id: 'KeyQuota' });

const answer = z.object({
  serverTime: time('Current time in UTC'),
  offPeakWindow: window,
  offPeakActive: z.boolean(),
  activeBilling: z.enum(WALLETS).nullable().describe('Wallet that the next call is charged to'),
  activeBillingTrack: z
    .enum(['legacy', 'pack'])
    .nullable()
    .describe('What the next call is charged to: `legacy` is the plan, `pack` is a pack'),
  nextCallRejectReason: z.string().nullable().describe('Error code that a call of one unit would return now'),
  nextCallRejectMessage: z.string().nullable(),
  keyWarning: z.string().nullable().describe('The most urgent warning about the key'),
  general: wallet.describe('Subscription of the general wallet'),
  off_peak: wallet.describe('Subscription of the off-peak wallet'),
  packs: z.object({
    subscribed: z.boolean().describe('Whether any valid pack has units'),
    totalRemainingUnits: z.int(),
    rateLimitPerMinute: z.int().describe('Highest limit among the valid packs'),
    earliestValidUntil: time('When the first pack expires').nullable(),
    items: z.array(pack).describe('Packs, the next to expire first'),
  }),
  key: key.nullable().describe('The key of this request; null on the pages'),
});

export type QuotaAnswer = z.output<typeof answer>;

export const quota = defineLocal({
  name: 'account.quota',
  summary: "Returns the account's quota and the wallet of the next call.",
  tool: 'market_get_quota',
  toolset: 'account',
  routes: [
    { method: 'GET', path: '/api/quota' },
    { method: 'GET', path: '/api/token' },
  ],
  answer,
  params: z.unknown().transform(() => ({})),
});
