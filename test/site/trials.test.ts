import { describe, expect } from 'vitest';
import type { TrialRule } from '../../src/billing/payments/trials.ts';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { PAGES, signedIn } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

const TOKEN = 'only-for-the-operator';

const test = base.extend('openWith', ({ openAnother }) => async (trials?: TrialRule) => {
  const pages = { ...PAGES, ...(trials ? { trials } : {}) };
  const souk = await openAnother({ workers: 0, pages, operator: { adminToken: TOKEN } });
  await ensureStandardPlans(souk.database);
  return souk;
});

/** Sends the order of the trial, whether the page offers it or not. */
async function order(visitor: Visitor) {
  const { html } = await visitor.get('/account/checkout?kind=plan&code=trial');
  const orderId = /name="orderId" value="([^"]+)"/.exec(html)?.[1] ?? '';
  return visitor.post('/account/checkout', { orderId, kind: 'plan', code: 'trial', wallet: 'general' });
}

async function operatorOf(souk: Souk): Promise<Visitor> {
  const operator = createVisitor(souk.clientOf('').baseUrl);
  await operator.get('/admin/sign-in');
  await operator.post('/admin/sign-in', { token: TOKEN });
  return operator;
}

async function subscriptions(souk: Souk, accountId: number): Promise<number> {
  const { rows } = await souk.database.query('select 1 from subscriptions where account_id = $1', [
    accountId,
  ]);
  return rows.length;
}

describe('TRIALS', () => {
  test('open: every account may take the trial, once', async ({ openWith }) => {
    const souk = await openWith('open');
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    expect((await visitor.get('/account/plans')).text).toContain('Choose Trial');
    const { html } = await visitor.get('/account');
    const form = html.slice(html.indexOf('id="welcome"'));
    const fields = [...form.matchAll(/name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ]);
    const started = await visitor.post('/account/checkout', Object.fromEntries(fields));
    expect(started.text).toContain('Purchase complete');
    for (const path of ['/account', '/account/plans'])
      expect((await visitor.get(path)).html).not.toContain('id="welcome"');
    expect((await order(visitor)).status).toBe(409);
    expect(await subscriptions(souk, accountId)).toBe(1);
  });

  test.for(['manual', undefined] as const)(
    '%s: only the operator grants the trial',
    async (rule, { openWith }) => {
      const souk = await openWith(rule);
      const { visitor, accountId } = await signedIn(souk, { plan: null });
      const plans = await visitor.get('/account/plans');
      expect(plans.text).toContain('The operator of this service grants trials.');
      expect(plans.text).not.toContain('Choose Trial');
      expect(plans.text).toContain('Choose Basic');
      const refused = await order(visitor);
      expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('operator')]);
      expect(await subscriptions(souk, accountId)).toBe(0);

      const operator = await operatorOf(souk);
      await operator.get(`/admin/accounts/${accountId}`);
      const gift = { plan: 'trial', wallet: 'general', quantity: '1', months: '1', starts: '' };
      await operator.post(`/admin/accounts/${accountId}/subscription`, gift);
      expect(await subscriptions(souk, accountId)).toBe(1);
    },
  );

  test('confirmed: an account may take the trial after the operator has confirmed its e-mail address', async ({
    openWith,
  }) => {
    const souk = await openWith('confirmed');
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    expect((await visitor.get('/account/plans')).text).toContain('requires a confirmed e-mail address');
    expect((await order(visitor)).status).toBe(403);

    const operator = await operatorOf(souk);
    expect((await operator.get(`/admin/accounts/${accountId}`)).text).toContain('Not confirmed');
    const page = await operator.post(`/admin/accounts/${accountId}/confirm-email`, {});
    expect(page.text).not.toContain('Not confirmed');
    expect((await order(visitor)).status).toBe(200);
    expect(await subscriptions(souk, accountId)).toBe(1);
  });
});
