import { describe, expect } from 'vitest';
import { ensureStandardPlans } from '../../src/billing/standard-plans.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { expectPage, PAGES, signedIn, staffOf } from '../support/customer.ts';
import type { Souk } from '../support/souk.ts';
import { test } from '../support/souk-test.ts';
import type { Visitor } from '../support/visitor.ts';

test.override('soukOptions', { workers: 0, pages: PAGES, operator: { adminToken: 'only-for-the-operator' } });

let souk: Souk;
let operator: Visitor;
let until = '';
test.beforeAll(async ({ souk: opened }) => {
  souk = opened;
  await ensureStandardPlans(souk.database);
  operator = (await staffOf(souk, 'finance')).visitor;
  await operator.get('/admin/coupons');
  until = new Date(souk.clock.now() + 30 * DAY_MS).toISOString();
});

async function reduce(fields: Record<string, string>) {
  const all = { kind: 'coupon', offer: 'all', percent: '', amount: '', until, ...fields };
  return operator.post('/admin/coupons', all);
}

/** Sends the form of an offer as a browser does. */
async function send(visitor: Visitor, offer: string, fields: Record<string, string>) {
  const { html } = await visitor.get(`/account/checkout?${offer}`);
  return visitor.post('/account/checkout', { ...hiddenIn(html), ...fields });
}

function hiddenIn(html: string): Record<string, string> {
  const form = html.slice(html.indexOf('action="/account'));
  const found = [...form.matchAll(/type="hidden" name="(\w+)" value(?:="([^"]*)")?/g)];
  return Object.fromEntries(found.map(([, name = '', value = '']) => [name, value]));
}

async function purchases(accountId: number) {
  const { rows } = await souk.database.query(
    'select amount_cents as paid, list_cents as list, reduction, state from orders where account_id = $1 order by created_at',
    [accountId],
  );
  return rows;
}

describe('a coupon', () => {
  test('lowers the price after it was shown, and the purchase names it', async () => {
    await reduce({ code: 'spring20', percent: '20' });
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    const applied = await send(visitor, 'kind=plan&code=basic', {
      coupon: ' Spring20 ',
      intent: 'apply',
      months: '2',
    });
    expect(applied.status).toBe(200);
    expect(applied.text).toContain('Check the price, then complete the purchase.');
    expect(applied.text).toContain('Total $46.40 $58.00');
    expect(applied.text).toContain('Coupon SPRING20: 20 % off until');
    expect(await purchases(accountId)).toEqual([]);
    const fields = { ...hiddenIn(applied.html), coupon: 'SPRING20', months: '2' };
    const bought = await visitor.post('/account/checkout', fields);
    expect(bought.text).toContain('List price $58.00 Reduction Coupon SPRING20: 20 % off Amount $46.40');
    expect(await purchases(accountId)).toEqual([
      { paid: 4_640, list: 5_800, reduction: 'Coupon SPRING20: 20 % off', state: 'granted' },
    ]);
    expect((await visitor.get('/account/plans')).text).toContain(
      'Coupon SPRING20: 20 % off, list price $58.00',
    );
    expect((await operator.get('/admin/orders')).text).toContain('Coupon SPRING20: 20 % off');
    expect((await operator.get('/admin/coupons')).text).toContain('SPRING20 20 % off all');
  });

  test('that was not shown yet is shown before anything is bought', async () => {
    await reduce({ code: 'UNSHOWN', amount: '5.50' });
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    const sent = await send(visitor, 'kind=pack&code=units-10k', { coupon: 'UNSHOWN', quantity: '1' });
    expectPage(sent, 200, 'Total $9.50 $15.00');
    expect(await purchases(accountId)).toEqual([]);
  });

  test('that is wrong or ended is refused with what to do, and nothing is bought', async () => {
    await reduce({ code: 'OVER', percent: '20' });
    const { html } = await operator.get('/admin/coupons');
    const id = /coupons\/(\d+)\/end"[^>]*data-confirm="End the coupon OVER/.exec(html)?.[1];
    await operator.post(`/admin/coupons/${id}/end`, {});
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    for (const [coupon, message] of [
      ['OVER', 'The coupon OVER ended on'],
      ['NO-SUCH', 'This coupon does not exist. Check its spelling. Remove the code to buy without a coupon.'],
      ['%', 'This coupon does not exist.'],
    ] as const) {
      const sent = await send(visitor, 'kind=pack&code=units-10k', { coupon, quantity: '1' });
      expectPage(sent, 409, message);
    }
    expect(await purchases(accountId)).toEqual([]);
  });

  test('cannot be guessed: after ten wrong codes an account waits, and buys without a code', async () => {
    await reduce({ code: 'HIDDEN', percent: '20' });
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    const attempt = (coupon: string) =>
      visitor.post('/account/checkout', {
        orderId: crypto.randomUUID(),
        kind: 'pack',
        code: 'units-10k',
        coupon,
        intent: 'apply',
      });
    await visitor.get('/account/checkout?kind=pack&code=units-10k');
    for (let i = 0; i < 10; i += 1) expect((await attempt(`GUESS-${i}`)).status).toBe(409);
    const refused = await attempt('HIDDEN');
    expectPage(refused, 429, 'Too many codes that were wrong. Try again in 15 minutes, or remove the code.');
    await send(visitor, 'kind=pack&code=units-10k', { coupon: '', quantity: '1' });
    expect(await purchases(accountId)).toMatchObject([{ paid: 1_500, state: 'granted' }]);
  });
});

describe('a discount', () => {
  test('of a plan is on the pages of prices with its end, and of an account on its own pages only', async ({
    client,
  }) => {
    await reduce({ kind: 'discount', percent: '10', offer: 'plan:pro' });
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    await reduce({ kind: 'discount', percent: '30', account: String(accountId) });
    for (const path of ['/pricing', '/']) {
      const { text } = await client.raw(path);
      expect(text).toContain('<s>$149.00</s> $134.10');
      expect(text).toContain('Discount: 10 % off');
      expect(text).not.toContain('30 % off');
    }
    const { text } = await visitor.get('/account/plans');
    expect(text).toContain('$149.00 $104.30');
    expect(text).toContain('Discount: 30 % off until');
    const bought = await send(visitor, 'kind=plan&code=pro', { months: '1', quantity: '1' });
    expect(bought.text).toContain('Reduction Discount: 30 % off Amount $104.30');
  });

  test('that is better than a coupon is used instead of it', async () => {
    await reduce({ code: 'SMALL', percent: '5' });
    const { visitor, accountId } = await signedIn(souk, { plan: null });
    await reduce({ kind: 'discount', percent: '40', account: String(accountId), offer: 'pack:units-10k' });
    const shown = await send(visitor, 'kind=pack&code=units-10k', { coupon: 'SMALL', intent: 'apply' });
    expect(shown.text).toContain('The coupon SMALL is not used, because your discount is better.');
    await visitor.post('/account/checkout', { ...hiddenIn(shown.html), coupon: 'SMALL', quantity: '1' });
    expect(await purchases(accountId)).toMatchObject([{ paid: 900, reduction: 'Discount: 40 % off' }]);
  });
});

describe('the form of coupons', () => {
  test.for([
    [{ code: 'x', percent: '20' }, 'must have 3 to 20 letters'],
    [{ code: 'TWICE', percent: '20', amount: '5' }, 'is required, or else an amount, and not both'],
    [{ code: 'NONE' }, 'is required, or else an amount, and not both'],
    [{ code: 'MUCH', percent: '101' }, 'must be a whole number from 1 to 100'],
    [{ code: 'FREE', amount: '0' }, 'must be more than 0'],
    [{ code: 'PAST', percent: '5', until: '2020-01-01' }, 'must be in the future, at most 3 years from now'],
    [{ code: 'FOR', percent: '5', offer: 'plan:none' }, 'must be a plan or pack that exists'],
    [{ kind: 'discount', percent: '5', account: '987654' }, 'must be the number of an account, got 987654'],
  ] as const)('refuses %j', async ([fields, message]) => {
    const { status, text } = await reduce(fields);
    expect([status === 400 || status === 409, text]).toEqual([true, expect.stringContaining(message)]);
  });
});
