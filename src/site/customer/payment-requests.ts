import { SoukError } from '../../platform/errors.ts';
import type { Pages } from '../pages.ts';

/**
 * Counts a request that asks the payment provider, whose API limits all customers together.
 * @throws SoukError TOO_MANY_ATTEMPTS.
 */
export async function countPaymentRequest({ attempts }: Pages, accountId: number): Promise<void> {
  const waitSeconds = await attempts.countPayment(accountId);
  if (waitSeconds === null) return;
  const minutes = Math.ceil(waitSeconds / 60);
  throw new SoukError('TOO_MANY_ATTEMPTS', {
    message: `Too many requests about payments. Try again in ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}.`,
    retryAfterSeconds: waitSeconds,
  });
}
