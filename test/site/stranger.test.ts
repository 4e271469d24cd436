import { describe, expect } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { buy } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import { createVisitor, type Visitor } from '../support/visitor.ts';

test.override('soukOptions', { workers: 0, pages: { payments: { way: 'demo', currency: 'usd' } } });

describe('a new customer', () => {
  let souk: Souk;
  let visitor: Visitor;
  test.beforeAll(async ({ souk: opened }) => {
    souk = opened;
    await ensureStandardPlans(souk.database);
    visitor = createVisitor(souk.clientOf('').baseUrl);
  });

  test('signs up, buys a plan, sees the key once, and makes a call with it', async () => {
    const home = await visitor.get('/');
    for (const text of ['Enterprise', 'Lumio Wireless Headphones', 'market_get_product', 'import requests'])
      expect(home.text).toContain(text);
    const chart = JSON.parse(/data-chart="([^"]+)"/.exec(home.html)?.[1]?.replaceAll('&quot;', '"') ?? '{}');
    expect(chart.series[0].values.length).toBeGreaterThan(20);
    await visitor.get('/sign-up');
    const first = await visitor.post('/sign-up', {
      email: 'New@Customer.example',
      name: 'A <b>new</b> customer',
      password: 'correct horse battery',
    });
    expect(first.path).toBe('/account');
    expect(first.text).toContain('First steps');
    expect((await visitor.get('/account/plans')).text).toContain('Demo payments');
    const terms = { quantity: '2', months: '3' };
    const { orderId, page: bought } = await buy(visitor, 'kind=plan&code=basic', terms);
    const order = { orderId, kind: 'plan', code: 'basic', wallet: 'general', ...terms };
    expect(bought.text).toContain('Purchase complete');
    expect(bought.text).toContain('Basic × 2, 3 months');
    const key = /km_[A-Za-z0-9]{32}/.exec(bought.text)?.[0] ?? '';
    for (const example of ["curl -H 'X-API-Key: KEY'", "'X-API-Key': 'KEY'", '{"X-API-Key": "KEY"}'])
      expect(bought.text).toContain(example.replace('KEY', key));
    const quota = (await souk.clientOf(key).get('/api/quota')).json.data;
    expect(quota.general).toMatchObject({ subscribed: true, quantity: 2, plan: { name: 'Basic' } });

    // Sending the form again, as after a reload, returns the same purchase and no key.
    const again = await visitor.post('/account/checkout', order);
    expect(again.path).toBe(`/account/orders/${orderId}`);
    expect(again.text).not.toContain('km_');
    const keys = await visitor.get('/account/keys');
    expect(keys.text).toContain(`${key.slice(0, 7)}…`);
    expect(keys.text).not.toContain(key);
    const overview = await visitor.get('/account');
    expect(overview.text).toContain('Hello, A <b>new</b> customer');
    expect(overview.html).not.toContain('<b>new</b>');
    expect(overview.text).toContain('Your next call uses the units of your plan');
  });
});
