import { z } from 'zod';
import { PLAN_GRACE_DAYS } from '../billing/payments/stripe/stripe-context.ts';
import { onOrOff } from './on-or-off.ts';

export const PAYMENT_SETTINGS = {
  PAYMENTS: z
    .enum(['demo', 'manual', 'stripe'], 'must be demo, manual or stripe')
    .optional()
    .describe(
      'Payment method: `demo` grants purchases immediately, `manual` waits for the operator, `stripe` needs the two Stripe settings. Default: `stripe` if those are set, `demo` under `npm start` with the demo provider, otherwise `manual`',
    ),
  PAYMENT_CURRENCY: z
    .string()
    .toLowerCase()
    .refine(isCurrencyOfCents, 'must be a currency with hundredths, such as usd')
    .default('usd')
    .describe('Currency of all prices'),
  UPSTREAM_TOKEN_PRICE: z.coerce
    .number()
    .positive()
    .optional()
    .describe(
      'Price of one token of the data provider in PAYMENT_CURRENCY, such as 0.0005, for the page Margin. Default: the page counts tokens without their cost',
    ),
  STRIPE_SECRET_KEY: z.string().optional().describe('Secret key of the Stripe account'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .optional()
    .describe('Signing secret of the Stripe webhook that calls `/payments/stripe`'),
  STRIPE_TAX: onOrOff
    .default(false)
    .describe(
      "Lets Stripe Tax compute taxes, from the customer's address. It has to be set up in Stripe's dashboard",
    ),
  PLAN_GRACE_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(30)
    .default(PLAN_GRACE_DAYS)
    .describe('Days for which a plan that renews continues after a failed payment, before it ends'),
} as const;

/** Prices are in cents, in Souk and at payment providers. */
function isCurrencyOfCents(code: string): boolean {
  const currency = code.toUpperCase();
  if (!Intl.supportedValuesOf('currency').includes(currency)) return false;
  const { maximumFractionDigits } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  return maximumFractionDigits === 2;
}
