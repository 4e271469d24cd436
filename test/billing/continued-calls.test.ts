import { expect } from 'vitest';
import { findCall } from '../../src/billing/calls.ts';
import type { PackGrant, SubscriptionGrant } from '../support/billing.ts';
import { test } from '../support/souk-test.ts';

const CHARGE = { chargeId: 'ab'.repeat(16) };

test.for<[string, { subscriptions?: SubscriptionGrant[]; packs?: PackGrant[] }]>([
  ['a subscription, on the quick path', { subscriptions: [{}] }],
  ['packs, on the general path', { packs: [{ units: 100 }] }],
])(
  'a call that continues a settled call does not join it, and later identical calls join the new one: %s',
  async ([_sources, sources], { billing }) => {
    const account = await billing.account(sources);
    const first = await billing.admit(account, 10, CHARGE);
    await billing.settle(account, first.callId, 9);
    expect(await billing.admit(account, 10, CHARGE)).toMatchObject({ kind: 'joined', callId: first.callId });

    const continuing = { ...CHARGE, continues: first.callId, unitsPaid: 9 };
    const second = await billing.admit(account, 1, continuing);
    expect(second.kind).toBe('started');
    // A lost job is put back with it.
    expect(await findCall(billing.database, account.accountId, second.callId)).toMatchObject({
      unitsPaid: 9,
    });
    // While the second call is open, another request with the same purpose joins it.
    const joined = { kind: 'joined', callId: second.callId };
    expect(await billing.admit(account, 1, continuing)).toMatchObject({ ...joined, finished: false });
    await billing.settle(account, second.callId, 1);
    for (const details of [CHARGE, continuing])
      expect(await billing.admit(account, 10, details)).toMatchObject({ ...joined, finished: true });

    // A failed continuation leaves the settled call.
    const third = await billing.admit(account, 1, { ...CHARGE, continues: second.callId });
    await billing.release(account, third.callId);
    expect(await billing.admit(account, 10, CHARGE)).toMatchObject({ ...joined, finished: true });
  },
);
