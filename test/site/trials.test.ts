import { describe, expect } from 'vitest';
import type { TrialRule } from '../../src/billing/payments/purchase-rules.ts';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { monthsAfter } from '../../src/platform/calendar.ts';
import { expectBalancesOfLedger } from '../support/balances.ts';
import { buy, expectPage, PAGES, signedIn, staffOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test as base } from '../support/souk-test.ts';
import type { Visitor } from '../support/visitor.ts';

const TOKEN = 'only-for-the-operator';

const test = base.extend('openWith', ({ openAnother }) => async (trials?: TrialRule, workers = 0) => {
  const pages = { ...PAGES, ...(trials ? { trials } : {}) };
  const souk = await openAnother({ workers, pages, operator: { adminToken: TOKEN } });
  await ensureStandardPlans(souk.database);
  return souk;
});

/** Sends the order of a plan, whether the page offers it or not. */
const order = async (visitor: Visitor, code = 'trial') => (await buy(visitor, `kind=plan&code=${code}`)).page;

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
    const form = html.slice(html.indexOf('<h3>Choose a plan</h3>'));
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
    // A further account of the same owner has no trial.
    await visitor.get('/profile');
    const second = await visitor.post('/profile/accounts', { name: 'Second account' });
    expect(second.text).not.toContain('Choose Trial');
    expect((await order(visitor)).status).toBe(409);
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
      expectPage(refused, 403, 'operator');
      expect(await subscriptions(souk, accountId)).toBe(0);

      const operator = (await staffOf(souk)).visitor;
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

    const operator = (await staffOf(souk)).visitor;
    expect((await operator.get(`/admin/accounts/${accountId}`)).text).toContain('Not confirmed');
    const page = await operator.post(`/admin/accounts/${accountId}/confirm-email`, {});
    expect(page.text).not.toContain('Not confirmed');
    expect((await order(visitor)).status).toBe(200);
    expect(await subscriptions(souk, accountId)).toBe(1);
  });
});

describe('a customer with a trial', () => {
  test('has the limits of a paid plan in the minute in which it is bought', async ({ openWith }) => {
    const souk = await openWith('open', 1);
    const { visitor, client, accountId } = await signedIn(souk, { plan: null });
    await order(visitor);
    const call = async (i: number) => {
      const path = `/api/market/product?domain=1&asins=B0TRIAL${String(i).padStart(3, '0')}`;
      return (await client.get(path)).status;
    };
    const statuses = await Promise.all(Array.from({ length: 11 }, (_, i) => call(i)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);

    souk.clock.advance(1_000);
    const checkout = await visitor.get('/account/checkout?kind=plan&code=pro');
    expect(checkout.text).toContain('Your free plan Trial and its remaining units end');
    expect((await order(visitor, 'pro')).text).toContain('Purchase complete');
    const { data } = (await client.get('/api/quota')).json;
    expect(data.general).toMatchObject({
      plan: { name: 'Pro' },
      minute: { limit: 300, used: 0 },
      daily: { limit: 20_000, used: 0 },
      monthly: { limit: 300_000, used: 0 },
    });
    expect(await call(20)).toBe(200);
    const { rows } = await souk.database.query(
      'select ends_at, starts_at from subscriptions where account_id = $1 order by starts_at',
      [accountId],
    );
    expect(rows.map(({ ends_at }) => ends_at)[0]).toEqual(rows[1]?.starts_at);
    await expectBalancesOfLedger(souk, accountId);
  });

  test('is not offered the trial again, and sees which plan runs and which ones wait', async ({
    openWith,
  }) => {
    const souk = await openWith('open');
    const { visitor } = await signedIn(souk, { plan: null });
    await order(visitor);
    souk.clock.advance(1_000);
    for (const code of ['pro', 'basic']) await order(visitor, code);
    const plans = await visitor.get('/account/plans');
    expect(plans.text).not.toContain('Choose Trial');
    const start = souk.clock.now();
    const at = (months: number) =>
      monthsAfter(new Date(start), months).toISOString().slice(0, 16).replace('T', ' ');
    expect(plans.text).toContain(`Pro General Running ${at(0)} UTC ${at(1)} UTC`);
    expect(plans.text).toContain(`Basic General Waiting ${at(1)} UTC ${at(2)} UTC`);
    const overview = await visitor.get('/account');
    expect(overview.text).toContain(`Next: Basic , from ${at(1)} UTC until ${at(2)} UTC`);
    const checkout = await visitor.get('/account/checkout?kind=plan&code=enterprise');
    expect(checkout.text).toContain(`Your current plan, Pro, runs until ${at(1)} UTC`);
    expect(checkout.text).toContain(`Then Basic runs until ${at(2)} UTC`);
    expect((await order(visitor)).text).toContain('You have already used Trial.');
  });
});
