import { z } from 'zod';
import { SCHEMA_NAMES } from '../answers/schema-names.ts';
import { defineLocal } from '../define.ts';

const WALLETS = ['general', 'off_peak'] as const;

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
    limit: z.int().nullable().describe('null: not limited'),
    used: z.int(),
    remaining: z.int().nullable().describe('null: not limited'),
  })
  .register(SCHEMA_NAMES, { id: 'QuotaBucket' });

const subscription = z
  .object({
    subscribed: z.literal(true),
    plan: z.object({ id: z.int(), name: z.string() }),
    subscriptionEnd: time('End of the current period'),
    quantity: z.int().describe('Number of plans bought'),
    minute: bucket.describe('Calls of this minute'),
    daily: bucket.describe('Units of this day, UTC'),
    monthly: bucket.describe('Units of this month, counted from the day of the subscription'),
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
    validUntil: time('When it expires'),
    window: window.optional(),
    inWindow: z.boolean().optional().describe('Whether its window is open now'),
  })
  .register(SCHEMA_NAMES, { id: 'PackQuota' });

const answer = z.object({
  serverTime: time('Now, UTC'),
  offPeakWindow: window,
  offPeakActive: z.boolean(),
  activeBilling: z.enum(WALLETS).nullable().describe('Wallet of the next call'),
  activeBillingTrack: z
    .enum(['legacy', 'pack'])
    .nullable()
    .describe('legacy: a subscription; pack: a resource pack'),
  nextCallRejectReason: z.string().nullable().describe('Error code of a next call of one unit'),
  nextCallRejectMessage: z.string().nullable(),
  keyWarning: z.string().nullable().describe('Most urgent warning for the owner of the key'),
  general: wallet.describe('The subscription for all day'),
  off_peak: wallet.describe('The subscription for the off-peak window'),
  packs: z.object({
    subscribed: z.boolean().describe('Whether any valid pack has units'),
    totalRemainingUnits: z.int(),
    rateLimitPerMinute: z.int().describe('Highest of the valid packs'),
    earliestValidUntil: time('When the first pack expires').nullable(),
    items: z.array(pack).describe('By expiry, first to expire first'),
  }),
});

export const quota = defineLocal<'account.quota', Record<string, never>>({
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
