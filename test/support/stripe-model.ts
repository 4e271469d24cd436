import { monthsAfter } from '../../src/platform/calendar.ts';

/** Parameters of a request, nested as their form fields are: `items[0][quantity]`. */
export interface Params {
  [name: string]: Params | string | undefined;
}

type Fields = Record<string, unknown>;

export interface StripeObject extends Fields {
  id: string;
  object: string;
}

export interface StripeEvent {
  type: string;
  object: StripeObject;
  /** Unix seconds. */
  created: number;
}

/**
 * The objects of Stripe that Souk uses, and how they change, as Stripe's documentation (API version 2026-10-28) describes it.
 *
 * Discounts are coupons that take an amount off invoices of a subscription for some months; a credit of unused time is that share of
 * what was paid. Not modelled: taxes and other discounts, the customer's balance (an upgrade credits on its invoice), the hour for which a renewal
 * invoice is a draft, Smart Retries (a test pays again by itself), payment methods other than cards, more than one item of a
 * subscription, and the fields that Souk does not read.
 */
export class StripeModel {
  /** All objects by id. */
  readonly objects = new Map<string, StripeObject>();
  /** Events in the order in which Stripe would create them. A test delivers them. */
  readonly events: StripeEvent[] = [];
  /** Unix seconds. */
  now: number;
  /** Whether cards are charged, or declined. */
  cardWorks = true;
  #count = 0;

  constructor(nowMs: number) {
    this.now = Math.floor(nowMs / 1000);
  }

  add(kind: string, prefix: string, fields: Fields, ownId?: string): StripeObject {
    this.#count += 1;
    const id = ownId ?? `${prefix}_${this.#count}`;
    const object = { id, object: kind, created: this.now, ...fields };
    this.objects.set(id, object);
    return object;
  }

  all(kind: string): StripeObject[] {
    return [...this.objects.values()].filter(({ object }) => object === kind);
  }

  get(id: string): StripeObject {
    const found = this.objects.get(id);
    if (!found) throw new StripeRefusal(404, 'resource_missing', `No such object: ${id}`);
    return found;
  }

  /** Makes an event with the object as it is now. */
  report(type: string, object: StripeObject): void {
    this.events.push({ type, object: structuredClone(object), created: this.now });
  }

  /** Ends a checkout page that was not paid. */
  expire(sessionId: string): StripeObject {
    const session = this.get(sessionId);
    if (session.status !== 'open')
      throw new StripeRefusal(400, 'resource_missing', 'Only open Checkout Sessions can be expired.');
    Object.assign(session, { status: 'expired' });
    this.report('checkout.session.expired', session);
    return session;
  }

  /** The customer completes a checkout page. */
  complete(sessionId: string): StripeObject {
    const session = this.get(sessionId);
    const { mode, customer, params } = session as unknown as {
      mode: string;
      customer: string;
      params: Params;
    };
    if (session.status !== 'open') throw new Error(`the page ${sessionId} is ${String(session.status)}`);
    Object.assign(session, { status: 'complete', payment_status: 'paid' });
    this.saveCard(customer);
    const [line] = Object.values((params.line_items ?? {}) as Params) as Params[];
    const price = (line?.price_data ?? {}) as Params;
    const cents = Number(price.unit_amount ?? 0) * Number(line?.quantity ?? 1);
    const discounts = params.discounts as Params | undefined;
    const metadata = ((
      params[mode === 'subscription' ? 'subscription_data' : 'payment_intent_data'] as Params
    )?.metadata ?? {}) as Fields;
    if (mode === 'payment') session.payment_intent = this.pay(customer, cents, { metadata }).id;
    if (mode === 'subscription')
      session.subscription = this.#subscribe(customer, line as Params, metadata, discounts).id;
    if (mode !== 'setup')
      Object.assign(session, { amount_subtotal: cents, amount_total: cents, currency: price.currency });
    this.report('checkout.session.completed', session);
    return session;
  }

  saveCard(customer: string): void {
    if (this.all('payment_method').some((card) => card.customer === customer)) return;
    const card = this.add('payment_method', 'pm', { customer, type: 'card' });
    Object.assign(this.get(customer), { invoice_settings: { default_payment_method: card.id } });
  }

  /** Charges the customer. */
  pay(customer: string, amount: number, fields: Fields = {}): StripeObject {
    const works = this.cardWorks;
    const intent = this.add('payment_intent', 'pi', { metadata: {}, ...fields, customer, amount });
    Object.assign(intent, {
      status: works ? 'succeeded' : 'requires_payment_method',
      currency: 'eur',
      latest_charge: null,
    });
    if (works) {
      const charge = this.add('charge', 'ch', {
        customer,
        amount,
        amount_refunded: 0,
        disputed: false,
        refunded: false,
        currency: 'eur',
        payment_intent: intent.id,
        paid: true,
        receipt_url: `https://pay.stripe.test/${intent.id}`,
      });
      intent.latest_charge = charge.id;
    }
    this.report(works ? 'payment_intent.succeeded' : 'payment_intent.payment_failed', intent);
    return intent;
  }

  #subscribe(customer: string, line: Params, metadata: Fields, discounts?: Params): StripeObject {
    const subscription = this.add('subscription', 'sub', {
      customer,
      status: 'active',
      cancel_at_period_end: false,
      cancel_at: null,
      metadata,
      anchor: this.now,
      months: 0,
    });
    this.#discount(subscription, discounts ?? '');
    const price = this.#price(line.price_data as Params);
    const item = { id: `si_${subscription.id}`, object: 'subscription_item', price };
    subscription.items = { object: 'list', data: [{ ...item, quantity: Number(line.quantity ?? 1) }] };
    this.#nextPeriod(subscription);
    this.report('customer.subscription.created', subscription);
    this.#invoice(subscription, 'subscription_create', [this.#cycleLine(subscription)]);
    return subscription;
  }

  /** Replaces the discounts of a subscription. */
  #discount(subscription: StripeObject, discounts: Params | string): void {
    const [given] = typeof discounts === 'string' ? [] : (Object.values(discounts) as Params[]);
    const coupon = given && this.get(textOf(given.coupon));
    const months = Number(coupon?.duration_in_months ?? 0);
    const end = monthsAfter(new Date(this.now * 1000), months).getTime() / 1000;
    subscription.discounts = coupon
      ? [
          {
            id: `di_${coupon.id}`,
            object: 'discount',
            start: this.now,
            end,
            source: { type: 'coupon', coupon },
          },
        ]
      : [];
  }

  #amountOff(subscription: StripeObject): number {
    const [discount] = subscription.discounts as {
      end: number;
      source: { coupon: { amount_off: number } };
    }[];
    return discount && this.now < discount.end ? discount.source.coupon.amount_off : 0;
  }

  #price({ product, unit_amount, currency }: Params): StripeObject {
    this.get(textOf(product));
    return this.add('price', 'price', {
      product,
      unit_amount: Number(unit_amount),
      currency,
      type: 'recurring',
    });
  }

  #nextPeriod(subscription: StripeObject): void {
    const item = itemOf(subscription);
    const months = Number(subscription.months);
    const at = (k: number) => monthsAfter(new Date(Number(subscription.anchor) * 1000), k).getTime() / 1000;
    Object.assign(item, { current_period_start: at(months), current_period_end: at(months + 1) });
    subscription.months = months + 1;
  }

  #cycleLine(subscription: StripeObject): Fields {
    const item = itemOf(subscription);
    return lineOf(item, Number(item.price.unit_amount) * item.quantity, {
      start: item.current_period_start,
      end: item.current_period_end,
    });
  }

  /** Creates an invoice and charges it. A negative total becomes credit of the customer, and the invoice is paid. */
  #invoice(subscription: StripeObject, reason: string, lines: Fields[]): StripeObject {
    const subtotal = lines.reduce((sum, { amount }) => sum + Number(amount), 0);
    const off = Math.min(this.#amountOff(subscription), Math.max(0, subtotal));
    const total = subtotal - off;
    const invoice = this.add('invoice', 'in', {
      customer: subscription.customer,
      billing_reason: reason,
      status: 'open',
      subtotal,
      total,
      total_discount_amounts: off > 0 ? [{ amount: off }] : [],
      currency: 'eur',
      parent: { type: 'subscription_details', subscription_details: { subscription: subscription.id } },
      lines: { object: 'list', data: lines },
      payments: { object: 'list', data: [] },
      hosted_invoice_url: `https://invoice.stripe.test/${this.now}`,
    });
    subscription.latest_invoice = invoice.id;
    this.payInvoice(invoice.id);
    return invoice;
  }

  /** Charges an open invoice, as Stripe does when it retries. */
  payInvoice(id: string): void {
    const invoice = this.get(id);
    if (invoice.status !== 'open') return;
    const intent = this.pay(String(invoice.customer), Math.max(0, Number(invoice.total)));
    const subscription = this.get(subscriptionOf(invoice));
    const paid = intent.status === 'succeeded';
    const payment = { type: 'payment_intent', payment_intent: intent.id };
    invoice.payments = { object: 'list', data: [{ status: paid ? 'paid' : 'open', payment }] };
    if (paid) invoice.status = 'paid';
    if (subscription.status !== 'canceled') subscription.status = paid ? 'active' : 'past_due';
    this.report(paid ? 'invoice.paid' : 'invoice.payment_failed', invoice);
    this.report('customer.subscription.updated', subscription);
  }

  /** Lets time pass: subscriptions whose period has ended renew, or end. */
  runTo(nowMs: number): void {
    const end = Math.floor(nowMs / 1000);
    for (;;) {
      const due = this.all('subscription')
        .filter((one) => one.status !== 'canceled' && itemOf(one).current_period_end <= end)
        .sort((a, b) => itemOf(a).current_period_end - itemOf(b).current_period_end)[0];
      if (!due) break;
      this.now = Math.max(this.now, itemOf(due).current_period_end);
      if (due.cancel_at_period_end) this.cancel(due.id);
      else {
        this.#nextPeriod(due);
        this.#invoice(due, 'subscription_cycle', [this.#cycleLine(due)]);
      }
    }
    this.now = Math.max(this.now, end);
  }

  /** Ends a subscription immediately. */
  cancel(id: string): StripeObject {
    const subscription = this.get(id);
    Object.assign(subscription, { status: 'canceled', canceled_at: this.now });
    this.report('customer.subscription.deleted', subscription);
    return subscription;
  }

  /** Changes a subscription, with `error_if_incomplete`: nothing changes if the card is declined. */
  update(id: string, params: Params): StripeObject {
    const subscription = this.get(id);
    if (params.cancel_at_period_end !== undefined)
      subscription.cancel_at_period_end = params.cancel_at_period_end === 'true';
    const [change] = Object.values((params.items ?? {}) as Params) as Params[];
    if (change) this.#changeItem(subscription, change, params);
    this.report('customer.subscription.updated', subscription);
    return subscription;
  }

  #changeItem(subscription: StripeObject, change: Params, params: Params): void {
    const item = itemOf(subscription);
    const price = this.#price(change.price_data as Params);
    if ((params.billing_cycle_anchor as Params | undefined)?.type !== 'now') {
      item.price = price;
      if (params.discounts !== undefined) this.#discount(subscription, params.discounts);
      return;
    }
    if (!this.cardWorks) throw new StripeRefusal(402, 'card_declined', 'Your card was declined.');
    const off = this.#amountOff(subscription);
    if (params.discounts !== undefined) this.#discount(subscription, params.discounts);
    const { current_period_start: from, current_period_end: to } = item;
    const left = Math.max(0, (to - this.now) / (to - from));
    const unused = -Math.round((Number(item.price.unit_amount) * item.quantity - off) * left);
    const credit = lineOf(item, unused, { start: this.now, end: to }, true);
    Object.assign(subscription, { anchor: this.now, months: 0 });
    item.price = price;
    this.#nextPeriod(subscription);
    this.#invoice(subscription, 'subscription_update', [credit, this.#cycleLine(subscription)]);
  }

  /** The operator changes the quantity in the dashboard, which charges or credits the rest of the period immediately. */
  changeQuantity(id: string, quantity: number): void {
    const subscription = this.get(id);
    const item = itemOf(subscription);
    const { current_period_start: from, current_period_end: to } = item;
    const rest = (count: number) =>
      Math.round((Number(item.price.unit_amount) * count * (to - this.now)) / (to - from));
    const period = { start: this.now, end: to };
    const credit = lineOf(item, -rest(item.quantity), period, true);
    item.quantity = quantity;
    this.#invoice(subscription, 'subscription_update', [credit, lineOf(item, rest(quantity), period, true)]);
  }

  /** Refunds a part of a charge. */
  refund(intentId: string, cents: number): void {
    const charge = this.get(String(this.get(intentId).latest_charge));
    charge.amount_refunded = Math.min(Number(charge.amount), Number(charge.amount_refunded) + cents);
    charge.refunded = charge.amount_refunded === charge.amount;
    this.report('charge.refunded', charge);
  }

  /** The customer's bank disputes a charge. */
  dispute(intentId: string): StripeObject {
    const charge = this.get(String(this.get(intentId).latest_charge));
    charge.disputed = true;
    const { amount } = charge;
    const dispute = this.add('dispute', 'dp', {
      charge: charge.id,
      payment_intent: intentId,
      amount,
      status: 'needs_response',
    });
    this.report('charge.dispute.created', dispute);
    return dispute;
  }

  closeDispute(id: string, status: 'won' | 'lost'): void {
    const dispute = this.get(id);
    dispute.status = status;
    this.report('charge.dispute.closed', dispute);
  }
}

/** An answer of Stripe that is not 200. */
export class StripeRefusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Item {
  id: string;
  price: StripeObject;
  quantity: number;
  current_period_start: number;
  current_period_end: number;
}

function itemOf(subscription: StripeObject): Item {
  return (subscription.items as { data: [Item] }).data[0];
}

function lineOf(
  { price, quantity }: Item,
  amount: number,
  period: { start: number; end: number },
  proration = false,
): Fields {
  const pricing = { type: 'price_details', price_details: { price: price.id, product: price.product } };
  const parent = { type: 'subscription_item_details', subscription_item_details: { proration } };
  return { object: 'line_item', amount, quantity, period, pricing, parent };
}

export function textOf(param: Params | string | undefined): string {
  return typeof param === 'string' ? param : '';
}

export function subscriptionOf(invoice: StripeObject): string {
  const parent = invoice.parent as { subscription_details: { subscription: string } };
  return parent.subscription_details.subscription;
}
