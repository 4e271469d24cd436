import { z } from 'zod';
import { SIGN_UPS_PER_HOUR } from '../accounts/attempts.ts';
import { TRIAL_RULES } from '../billing/payments/trials.ts';

/** Settings of sign-up, trials, and secrets of customers. */
export const CUSTOMERS = {
  SIGN_UPS_PER_HOUR: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(SIGN_UPS_PER_HOUR)
    .describe(
      'Sign-ups that a network may try in an hour, whether they succeed or not: an IPv4 network of 24 bits, an IPv6 network of 64 bits',
    ),
  TRIALS: z
    .enum(TRIAL_RULES, `must be ${TRIAL_RULES.join(', ')}`)
    .default('manual')
    .describe(
      'Who may take a free plan or pack, once per account: `open` every customer, `confirmed` customers with a confirmed e-mail address, `manual` only customers to whom the operator grants it. Where [mails](mail.md) are sent, `open` requires a confirmed address too. Default under `npm start` with the demo provider: `open`',
    ),
  SECRET_KEY: z
    .string()
    .transform((value) => value.split(',').map((key) => key.trim()))
    .pipe(
      z.array(
        z
          .string()
          .regex(/^[\x21-\x7e]{32,}$/, 'must be at least 32 letters, digits or signs, without spaces'),
      ),
    )
    .optional()
    .describe(
      'Key that encrypts the signing secrets of webhooks in PostgreSQL; the same for all gateways and workers. To change it, put the new key first: `NEW,OLD`. Default: secrets are stored as they are',
    ),
} as const;
