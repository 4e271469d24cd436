import { revokedKey, unavailableAccount, unknownKey } from '../accounts/authentication.ts';
import { SoukError } from '../platform/errors.ts';
import type { AdmissionRow } from './admission.ts';

/** `Retry-After` of refusals that end with a purchase rather than at a time. Clients that retry by themselves retry rarely. */
const WITHOUT_RESET_SECONDS = 3600;

/** Returns the error of a call that was not admitted. */
export function refusal(row: AdmissionRow, needed: number, now: number): SoukError {
  switch (row.outcome) {
    case 'key_unknown':
      return unknownKey();
    case 'key_revoked':
      return revokedKey();
    case 'account_unavailable':
      return unavailableAccount();
    default: {
      const { reason, wallet, remaining, resetAt, minuteLimit, minuteLeft } = row;
      if (reason === 'KEY_CAP_OF_DAY' || reason === 'KEY_CAP_OF_MONTH') return capReached(row, needed, now);
      const resetSeconds = 60 - Math.floor((now % 60_000) / 1000);
      return new SoukError(reason, {
        ...(minuteLimit === null
          ? {}
          : { rate: { limit: minuteLimit, remaining: minuteLeft, resetSeconds } }),
        metadata: { wallet, needed, remaining, resetAt: resetAt?.toISOString() ?? null },
        retryAfterSeconds: resetAt
          ? Math.max(1, Math.ceil((resetAt.getTime() - now) / 1000))
          : WITHOUT_RESET_SECONDS,
      });
    }
  }
}

function capReached({ reason, remaining, resetAt }: AdmissionRow, needed: number, now: number): SoukError {
  const period = reason === 'KEY_CAP_OF_DAY' ? 'day' : 'month';
  const end = resetAt ?? new Date(now);
  return new SoukError('KEY_CAP_REACHED', {
    message: `The call costs ${needed} units; this API key may use ${remaining} more units in this ${period} (UTC).`,
    metadata: { period, needed, remaining, resetAt: end.toISOString() },
    retryAfterSeconds: Math.max(1, Math.ceil((end.getTime() - now) / 1000)),
  });
}
