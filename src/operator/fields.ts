import { z } from 'zod';
import { couponCode, type NewReduction } from '../billing/payments/reductions.ts';
import { isDailyWindow, type OffPeakWindow, parseWindow, type Wallet } from '../billing/wallets.ts';
import { isTimeZone } from '../platform/time-zone.ts';

/** Fields of the operator's commands and forms, read from text. */
export function wholeNumber(min: number, max: number) {
  const problem = `must be a whole number from ${min} to ${max}`;
  return z
    .string({ error: problem })
    .regex(/^\d+$/, problem)
    .transform(Number)
    .pipe(z.number().min(min, problem).max(max, problem));
}

export const wallet = z.enum(['general', 'off_peak'], 'must be general or off_peak');

const OWN_WINDOW = 'must be a window and its time zone, such as 22:00-06:00 Europe/Berlin';

/** The window of an off-peak pack; empty for the window of the service. */
export const ownWindow = z
  .string()
  .trim()
  .default('')
  .transform((text, context): OffPeakWindow | null => {
    if (text === '') return null;
    const [hours = '', zone = '', ...others] = text.split(/\s+/);
    // PostgreSQL reads a zone that is an offset with the opposite sign.
    const isZone = /^[a-z]/i.test(zone) && isTimeZone(zone);
    if (isDailyWindow(hours) && isZone && others.length === 0) return parseWindow(hours, zone);
    context.issues.push({ code: 'custom', message: OWN_WINDOW, input: text });
    return z.NEVER;
  });

/** Refuses a window of a pack of the general wallet. */
export function requireOffPeak(pack: { wallet: Wallet; window: OffPeakWindow | null }): boolean {
  return pack.window === null || pack.wallet === 'off_peak';
}

export const WINDOW_WITHOUT_WALLET = { path: ['window'], error: 'is for packs of the off-peak wallet only' };

/** An amount of money in the currency of the installation; the result is in cents. */
export function centsOf(max: number) {
  return z
    .string()
    .trim()
    .regex(/^\d{1,7}(?:\.\d{1,2})?$/, 'must be an amount such as 29 or 29.50')
    .transform((text) => Math.round(Number(text) * 100))
    .pipe(z.number().max(max, `must be at most ${max / 100}`));
}

export const instant = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    'must be a time such as 2027-01-31 or 2027-01-31T12:00:00Z',
  )
  .transform((text) => new Date(text));

const empty = (value: unknown) => (value === '' ? undefined : value);

/** The longest time for which a coupon or a discount can be created. */
const REDUCTION_YEARS = 3;

const YEAR_MS = 365 * 86_400_000;

/**
 * Returns the fields of a coupon, which has a code, or of a discount, which may be for one account.
 * @param currency of an amount off: ISO 4217, lower case.
 */
export function reductionFields(
  kind: 'coupon' | 'discount',
  { currency, now }: { currency: string; now: number },
) {
  const isCoupon = kind === 'coupon';
  const none = z.undefined().optional();
  const code = z
    .string({ error: 'is required' })
    .transform((text) => couponCode(text) ?? '')
    .pipe(z.string().min(1, 'must have 3 to 20 letters, digits and hyphens, such as SPRING20'));
  return z
    .object({
      code: isCoupon ? code : none,
      percent: z.preprocess(empty, wholeNumber(1, 100).optional()),
      amount: z.preprocess(
        empty,
        centsOf(100_000_000).pipe(z.number().min(1, 'must be more than 0')).optional(),
      ),
      offer: z
        .string()
        .trim()
        .regex(
          /^(all|(plan|pack):[a-z0-9][a-z0-9-]{0,39})$/,
          'must be all, or such as plan:basic or pack:units-10k',
        )
        .default('all'),
      account: isCoupon ? none : z.preprocess(empty, wholeNumber(1, 999_999_999_999).optional()),
      until: instant,
      uses: isCoupon ? z.preprocess(empty, wholeNumber(1, 1_000_000).optional()) : none,
      once: isCoupon ? z.union([z.boolean(), z.string()]).optional() : none,
    })
    .refine(({ percent, amount }) => (percent === undefined) !== (amount === undefined), {
      path: ['percent'],
      error: 'is required, or else an amount, and not both',
    })
    .refine(({ until }) => until.getTime() > now && until.getTime() <= now + REDUCTION_YEARS * YEAR_MS, {
      path: ['until'],
      error: `must be in the future, at most ${REDUCTION_YEARS} years from now`,
    })
    .transform(({ code, percent, amount, offer, account, until, uses, once }): NewReduction => {
      const [offerKind, offerCode] = offer === 'all' ? [null, null] : offer.split(':');
      return {
        code: code ?? null,
        percent: percent ?? null,
        amountCents: amount ?? null,
        currency: amount === undefined ? null : currency,
        offerKind: offerKind === 'plan' || offerKind === 'pack' ? offerKind : null,
        offerCode: offerCode ?? null,
        accountId: account ?? null,
        maxUses: uses ?? null,
        oncePerAccount: once === true || once === 'true',
        endsAt: until,
      };
    });
}
