import { addressFor } from '../../../../src/accounts/account-address.ts';
import { beginSession, SESSION_COOKIE } from '../../../../src/accounts/sessions.ts';
import { UNFINISHED_PURCHASES } from '../../../../src/billing/payments/purchase-rules.ts';
import { ensureStandardPlans } from '../../../../src/billing/standard-plans.ts';
import { ownerOf } from '../../customer.ts';
import type { AttackCase } from '../attack-case.ts';

const REQUESTS = 5_000;
const FORM_TYPE = 'application/x-www-form-urlencoded';

export const purchases: AttackCase = {
  name: 'purchases',
  what: `starts ${REQUESTS} purchases with a new id each, over 100 connections, and pays none`,
  async prepare({ target, attacker }) {
    const { database, gateway } = target;
    await ensureStandardPlans(database);
    const { accountId } = await target.account('purchases');
    const personId = await ownerOf(database, accountId);
    const session = `${SESSION_COOKIE}=${await beginSession(database, { personId }, Date.now())}`;
    const path = addressFor(accountId, '/account/checkout?kind=pack&code=units-10k');
    const form = await fetch(`${gateway}${path}`, { headers: { cookie: session } });
    const cookies = form.headers.getSetCookie().map((one) => one.split(';')[0]);
    const csrf = /name="_csrf" value="([^"]*)"/.exec(await form.text())?.[1] ?? '';
    const body = new URLSearchParams({ _csrf: csrf, kind: 'pack', code: 'units-10k' });
    return {
      attack: () =>
        attacker.flood({
          gateway,
          connections: 100,
          amount: REQUESTS,
          requests: [
            {
              method: 'POST',
              path: addressFor(accountId, '/account/checkout'),
              headers: { cookie: [session, ...cookies].join('; '), 'content-type': FORM_TYPE },
              body: `${body}&orderId=00000000-0000-4000-8000-{n}`,
            },
          ],
        }),
      async judge() {
        const { rows } = await database.query<{ count: number }>(
          'select count(*)::int as count from orders where account_id = $1',
          [accountId],
        );
        const count = rows[0]?.count ?? 0;
        const faults = count > UNFINISHED_PURCHASES ? [`an account may leave ${UNFINISHED_PURCHASES}`] : [];
        return { notes: [`${count} purchases`], faults: count === 0 ? ['no purchase was started'] : faults };
      },
    };
  },
};
