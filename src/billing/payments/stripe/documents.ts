import type { PaymentDocument } from '../payment-port.ts';
import { customerOf, knownCustomer } from './checkout.ts';
import type { StripeContext } from './stripe-context.ts';

const MOST = 50;

/** Returns the invoices of an account's renewing plans and the receipts of its payments, the newest first. */
export async function listDocuments(context: StripeContext, accountId: number): Promise<PaymentDocument[]> {
  const customer = await knownCustomer(context, accountId);
  if (customer === null) return [];
  const stripe = await context.api();
  const [invoices, charges] = await Promise.all([
    stripe.invoices.list({ customer, limit: MOST }),
    stripe.charges.list({ customer, limit: MOST }),
  ]);
  const documents: (PaymentDocument | null)[] = [
    ...invoices.data.map(({ created, total, currency, status, hosted_invoice_url: url }) =>
      url ? { kind: 'invoice' as const, ...facts(created, total, currency), state: status ?? '', url } : null,
    ),
    ...charges.data.map(({ created, amount, currency, status, receipt_url: url }) =>
      url ? { kind: 'receipt' as const, ...facts(created, amount, currency), state: status, url } : null,
    ),
  ];
  return documents.filter((one) => one !== null).sort((a, b) => b.at.getTime() - a.at.getTime());
}

function facts(created: number, amountCents: number, currency: string) {
  return { at: new Date(created * 1000), amountCents, currency };
}

/** Returns the address of Stripe's customer portal, where the customer saves and changes cards. */
export async function portalAddress(
  context: StripeContext,
  accountId: number,
  returnTo: string,
): Promise<string> {
  const customer = await customerOf(context, accountId);
  const stripe = await context.api();
  return (await stripe.billingPortal.sessions.create({ customer, return_url: returnTo })).url;
}
