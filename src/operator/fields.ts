import { z } from 'zod';
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

export const instant = z
  .union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    'must be a time such as 2027-01-31 or 2027-01-31T12:00:00Z',
  )
  .transform((text) => new Date(text));
