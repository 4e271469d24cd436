import { describe, expect } from 'vitest';
import { ensureStandardPlans } from '../../../src/billing/standard-plans.ts';
import { signUp } from '../../support/customer.ts';
import type { Souk } from '../../support/souk.ts';
import { test as base } from '../../support/souk-test.ts';
import {
  openStripeStandIn,
  STRIPE_KEY,
  STRIPE_WEBHOOK_SECRET,
  type StripeStandIn,
} from '../../support/stripe.ts';
import { fieldIn, type Visitor } from '../../support/visitor.ts';

const test = base
  .extend('stripe', { scope: 'file' }, async ({}, { onCleanup }): Promise<StripeStandIn> => {
    const stripe = await openStripeStandIn();
    onCleanup(() => stripe.close());
    return stripe;
  })
  .override('soukOptions', ({ stripe }) => {
    const way = { secretKey: STRIPE_KEY, webhookSecret: STRIPE_WEBHOOK_SECRET, baseUrl: stripe.url };
    return { workers: 0, pages: { payments: { way, currency: 'eur' }, trials: 'open' } };
  });

describe('paying with Stripe', () => {
  let souk: Souk;
  let stripe: StripeStandIn;
  let visitor: Visitor;
  test.beforeAll(async ({ souk: opened, stripe: standIn }) => {
    [souk, stripe] = [opened, standIn];
    await ensureStandardPlans(souk.database);
    visitor = await signUp(souk, 'a@test.example');
  });

  async function checkOut(fields: Record<string, string>) {
    const { html } = await visitor.get(`/account/checkout?kind=${fields.kind}&code=${fields.code}`);
    const orderId = fieldIn(html, 'orderId');
    const _csrf = fieldIn(html, '_csrf');
    return { orderId, sent: await visitor.send('/account/checkout', { _csrf, orderId, ...fields }) };
  }

  function tell(type: string, session: Record<string, unknown>, signature?: string) {
    const event = stripe.event(type, { object: 'checkout.session', ...session });
    return souk.clientOf('').raw('/payments/stripe', {
      method: 'POST',
      body: event.body,
      headers: { 'content-type': 'application/json', 'stripe-signature': signature ?? event.signature },
    });
  }

  test('requests the amount of the purchase, and grants it once when signed events report the payment', async () => {
    const { orderId, sent } = await checkOut({ kind: 'plan', code: 'pro', quantity: '2', months: '1' });
    expect(sent.headers.location).toMatch(`${stripe.url}/pay/cs_test_`);
    expect(sent.headers['content-security-policy']).toContain(stripe.url);
    const session = stripe.sessions().at(-1);
    const id = session?.id;
    const price = { unit_amount: '29800', currency: 'eur' };
    expect(session).toMatchObject({
      mode: 'payment',
      client_reference_id: orderId,
      line_items: { 0: { price_data: price } },
    });
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Payment pending');

    const paid = {
      id,
      client_reference_id: orderId,
      payment_status: 'paid',
      amount_total: 29_800,
      currency: 'eur',
    };
    expect((await tell('checkout.session.completed', { ...paid, payment_status: 'unpaid' })).status).toBe(
      204,
    );
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Payment pending');
    const replies = await Promise.all(
      [1, 2, 3].map(() => tell('checkout.session.async_payment_succeeded', paid)),
    );
    expect(replies.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect((await tell('checkout.session.expired', { ...paid, status: 'expired' })).status).toBe(204);
    const page = await visitor.get(`/account/orders/${orderId}`);
    expect(page.text).toContain('Purchase complete');
    const { rows } = await souk.database.query('select quantity from subscriptions');
    expect(rows).toEqual([{ quantity: 2 }]);

    const shown = await visitor.post('/account/keys/first', {});
    expect(shown.text).toMatch(/km_[A-Za-z0-9]{32}/);
    expect((await visitor.post('/account/keys/first', {})).text).not.toMatch(/km_[A-Za-z0-9]{32}/);
  });

  test('refuses events without a valid signature', async () => {
    const { orderId } = await checkOut({ kind: 'pack', code: 'units-10k', quantity: '1' });
    const paid = {
      client_reference_id: orderId,
      payment_status: 'paid',
      amount_total: 1_500,
      currency: 'eur',
    };
    const { signature: ofAnother } = stripe.event('checkout.session.completed', {});
    for (const signature of ['', 'nonsense', 't=1,v1=00', ofAnother]) {
      expect((await tell('checkout.session.completed', paid, signature)).status).toBe(400);
    }
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Payment pending');
  });

  test.each([
    ['another amount', { amount_total: 1 }],
    ['another currency', { currency: 'jpy' }],
    ['an unknown purchase', { client_reference_id: 'somebody-elses' }],
    ['no purchase', { client_reference_id: null }],
  ])('grants nothing for a payment of %s', async (_, other) => {
    const { orderId } = await checkOut({ kind: 'pack', code: 'units-10k', quantity: '1' });
    const paid = {
      client_reference_id: orderId,
      payment_status: 'paid',
      amount_total: 1_500,
      currency: 'eur',
    };
    expect((await tell('checkout.session.completed', { ...paid, ...other })).status).toBe(204);
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Payment pending');
  });

  test('requests the reduced price, and grants no payment of the list price', async () => {
    await souk.database.query(
      "insert into price_reductions (code, percent, max_uses, created_at, ends_at) values ('STRIPE-20', 20, 1, now(), '2099-01-01')",
    );
    const fields = { kind: 'pack', code: 'units-10k', quantity: '1', coupon: 'STRIPE-20' };
    // The coupon of a payment that could not be started can be used again.
    stripe.failNext = 3;
    expect((await checkOut(fields)).sent.status).toBe(502);
    stripe.failNext = 0;
    const { orderId } = await checkOut(fields);
    expect(stripe.sessions().at(-1)).toMatchObject({
      line_items: {
        0: {
          price_data: {
            unit_amount: '1200',
            product_data: { description: 'List price €15.00. Coupon STRIPE-20: 20 % off.' },
          },
        },
      },
    });
    const paid = { client_reference_id: orderId, payment_status: 'paid', currency: 'eur' };
    await tell('checkout.session.completed', { ...paid, amount_total: 1_500 });
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Payment pending');
    await tell('checkout.session.completed', { ...paid, amount_total: 1_200 });
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Purchase complete');
  });

  test('cancels a purchase whose session has expired', async () => {
    const { orderId } = await checkOut({ kind: 'pack', code: 'units-10k', quantity: '1' });
    const session = { client_reference_id: orderId, status: 'expired' };
    expect((await tell('checkout.session.expired', session)).status).toBe(204);
    expect((await visitor.get(`/account/orders/${orderId}`)).text).toContain('Cancelled');
  });

  test('shows an error if Stripe does not answer, and creates the session at the next attempt', async () => {
    stripe.failNext = 3;
    const fields = { kind: 'pack', code: 'units-10k', quantity: '1' };
    const { sent } = await checkOut(fields);
    expect(sent.status).toBe(502);
    expect(sent.html).toContain('Nothing was bought');
    stripe.failNext = 1;
    expect((await checkOut(fields)).sent.status).toBe(303);
  });

  test('creates no session for a free plan', async () => {
    const before = stripe.sessions().length;
    const { sent } = await checkOut({ kind: 'plan', code: 'trial', wallet: 'off_peak' });
    expect([sent.status, sent.text.includes('Purchase complete')]).toEqual([200, true]);
    expect(stripe.sessions().length).toBe(before);
  });
});
