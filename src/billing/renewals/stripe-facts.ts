import type Stripe from 'stripe';
import { validate as isUuid } from 'uuid';
import { planIdOfProduct } from './plan-product.ts';

/** A paid invoice of a renewing plan and the time that it pays for. Times are Unix milliseconds. */
export interface PaidPeriod {
  invoiceId: string;
  planId: number;
  quantity: number;
  from: number;
  to: number;
  paymentIntentId: string | null;
}

/** What Stripe's objects say about a renewing plan. */
export interface StripeFacts {
  id: string;
  /** The purchase that created it; null: it was not created by a checkout of this installation. */
  purchaseId: string | null;
  /** unpaid: the last payment has failed. */
  status: 'running' | 'unpaid' | 'ended';
  /** It ends with the period that was paid. */
  isCancelling: boolean;
  /** The plan, quantity and price in cents that the next invoice will have. */
  planId: number | null;
  quantity: number;
  amountCents: number;
  paid: PaidPeriod[];
}

/** Reads the facts from a subscription of Stripe and its paid invoices. */
export function readFacts(
  subscription: Stripe.Subscription,
  paidInvoices: readonly Stripe.Invoice[],
): StripeFacts {
  const [item] = subscription.items.data;
  // The Stripe account may have other uses, which may use the same name for another id.
  const { purchase } = subscription.metadata;
  const quantity = item?.quantity ?? 1;
  return {
    id: subscription.id,
    purchaseId: purchase !== undefined && isUuid(purchase) ? purchase : null,
    status: STATUSES[subscription.status] ?? 'running',
    isCancelling: subscription.cancel_at_period_end || subscription.cancel_at !== null,
    planId: planIdOfProduct(idOf(item?.price.product ?? null)),
    quantity,
    amountCents: (item?.price.unit_amount ?? 0) * quantity,
    paid: paidInvoices.flatMap((invoice) => paidPeriod(invoice) ?? []),
  };
}

const STATUSES: Readonly<Record<string, StripeFacts['status']>> = {
  past_due: 'unpaid',
  unpaid: 'unpaid',
  incomplete: 'unpaid',
  paused: 'unpaid',
  canceled: 'ended',
  incomplete_expired: 'ended',
};

/**
 * The month that an invoice pays for. An upgrade has a line that credits the old plan, and one for the month of the new plan, which
 * counts. A line that is a proration charges or credits a part of a month that was paid before, for example after a change of the
 * quantity in Stripe's dashboard, so it pays for no month.
 */
function paidPeriod(invoice: Stripe.Invoice): PaidPeriod | null {
  const lines = invoice.lines.data.flatMap((line) => {
    const planId = planIdOfProduct(idOf(line.pricing?.price_details?.product ?? null));
    return planId === null || line.amount < 0 || isProration(line) ? [] : [{ ...line, planId }];
  });
  const [line] = lines.sort((a, b) => b.period.end - a.period.end || b.amount - a.amount);
  if (!line || line.period.end <= line.period.start) return null;
  return {
    invoiceId: invoice.id,
    planId: line.planId,
    quantity: line.quantity ?? 1,
    from: line.period.start * 1000,
    to: line.period.end * 1000,
    paymentIntentId: paymentIntentOf(invoice),
  };
}

function isProration({ parent }: Stripe.InvoiceLineItem): boolean {
  return (parent?.subscription_item_details ?? parent?.invoice_item_details)?.proration ?? false;
}

/** null for an invoice that was paid without a payment, for example from the customer's balance. */
function paymentIntentOf({ payments }: Stripe.Invoice): string | null {
  const paid = payments?.data.find(({ status }) => status === 'paid') ?? payments?.data[0];
  return idOf(paid?.payment.payment_intent ?? null);
}

/** Returns the id of an object that Stripe returns as its id or, on request, as a whole. */
export function idOf(reference: string | { id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null);
}
