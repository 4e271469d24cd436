import fc from 'fast-check';
import { expect } from 'vitest';
import { addKey, changeKey } from '../../src/accounts/account-keys.ts';
import { hashKey, KeyChanged } from '../../src/accounts/authentication.ts';
import { type KeySettings, WITHOUT_LIMITS } from '../../src/accounts/key-settings.ts';
import type { Caller } from '../../src/billing/admission.ts';
import { auditBooks, BOOKS } from '../../src/billing/books.ts';
import { unitsByKey } from '../../src/billing/key-warning.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type BilledAccount, type Billing, refusalOf } from '../support/billing.ts';
import { repetitions } from '../support/repetitions.ts';
import { test } from '../support/souk-test.ts';
import { oneStep } from '../support/steps.ts';

interface CappedKey {
  id: number;
  caller: Caller;
}

async function keyOf(
  billing: Billing,
  { accountId }: BilledAccount,
  limits: Partial<KeySettings>,
): Promise<CappedKey> {
  const { key, id } = await addKey(billing.database, accountId, {
    settings: { ...WITHOUT_LIMITS, ...limits },
    createdBy: null,
    now: billing.clock.now(),
  });
  return { id, caller: { accountId, keyHash: hashKey(key) } };
}

const unlimited = { subscriptions: [{}] };

/** Moves the clock to noon of the first day of the next month. */
function toNextMonth(billing: Billing): void {
  const now = new Date(billing.clock.now());
  billing.clock.advance(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 12) - now.getTime());
}

test('refuses units above the cap of a day until midnight UTC, and no other key', async ({ billing }) => {
  toNextMonth(billing);
  const account = await billing.account(unlimited);
  const { caller } = await keyOf(billing, account, { capDay: 10, capMonth: 15 });
  const admit = (units: number) => billing.admit(account, units, { caller });
  await admit(7);
  expect(await refusalOf(admit(4))).toEqual({
    kind: 'KEY_CAP_REACHED',
    metadata: {
      period: 'day',
      needed: 4,
      remaining: 3,
      resetAt: new Date(billing.clock.now() + DAY_MS / 2).toISOString(),
    },
    retryAfterSeconds: DAY_MS / 2 / 1000,
  });
  await admit(3);
  await billing.admit(account, 100);
  billing.clock.advance(DAY_MS / 2 - 1);
  expect(await refusalOf(admit(1))).toMatchObject({ retryAfterSeconds: 1 });
  billing.clock.advance(1);
  await admit(5);
  // 15 of the month are used.
  expect(await refusalOf(admit(1))).toMatchObject({ metadata: { period: 'month', remaining: 0 } });
});

test('a call of a key with a cap that is refused leaves no trace, also in a batch with calls of other keys', async ({
  billing,
}) => {
  const account = await billing.account(unlimited);
  const { id, caller } = await keyOf(billing, account, { capDay: 10 });
  const outcomes = await Promise.allSettled([
    billing.admit(account, 6, { caller }),
    billing.admit(account, 6, { caller }),
    billing.admit(account, 6),
    billing.admit(account, 4, { caller, answer: 'shared:x' }),
  ]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
  ]);
  expect((await unitsByKey(billing.database, account.accountId, billing.clock.now())).get(id)?.day).toBe(10);
});

test('concurrent calls over several gateways use exactly the cap', async ({ billing }) => {
  const account = await billing.account(unlimited);
  const { caller } = await keyOf(billing, account, { capMonth: 25 });
  const gateways = [billing.anotherGateway(), billing.anotherGateway(), billing.anotherGateway()];
  const outcomes = await Promise.allSettled(
    gateways.flatMap((gateway) =>
      Array.from({ length: 15 }, () => gateway.admit(billing.request(account, 1, { caller }))),
    ),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(25);
});

test('a call that joins an identical one needs no units of the cap', async ({ billing }) => {
  const account = await billing.account(unlimited);
  const { caller } = await keyOf(billing, account, { capDay: 5 });
  const chargeId = 'ab'.repeat(16);
  await billing.admit(account, 5, { caller, chargeId });
  expect(await billing.admit(account, 5, { caller, chargeId })).toMatchObject({ kind: 'joined' });
});

test('a prediction refuses what admission refuses, and uses no units of the cap', async ({ billing }) => {
  const account = await billing.account(unlimited);
  const { caller } = await keyOf(billing, account, { capMonth: 5 });
  for (let i = 0; i < 3; i += 1)
    expect(await billing.admissions.predict(caller, 5)).toMatchObject({ admitted: true });
  expect(await billing.admissions.predict(caller, 6)).toMatchObject({
    admitted: false,
    error: { kind: 'KEY_CAP_REACHED' },
  });
});

test('calls of a batch count for the key that created it, even after it was revoked', async ({ billing }) => {
  const account = await billing.account(unlimited);
  const { id, caller } = await keyOf(billing, account, { capDay: 5 });
  if (!('keyHash' in caller)) throw new Error('the caller has a key');
  const ofBatch = { accountId: account.accountId, batchKeyHash: caller.keyHash };
  await billing.database.query('update api_keys set revoked_at = now() where id = $1', [id]);
  await billing.admit(account, 5, { caller: ofBatch, background: true });
  expect(await refusalOf(billing.admit(account, 1, { caller: ofBatch, background: true }))).toMatchObject({
    kind: 'KEY_CAP_REACHED',
  });
});

test('refuses a call whose caller has checked other scopes than the key has now', async ({ billing }) => {
  const account = await billing.account(unlimited);
  const { id, caller } = await keyOf(billing, account, {});
  const now = billing.clock.now();
  await changeKey(billing.database, account.accountId, id, now, (key) => ({ ...key, scopes: ['read'] }));
  await expect(billing.admit(account, 1, { caller })).rejects.toThrow(KeyChanged);
  await billing.admit(account, 1, { caller: { ...caller, keyVersion: 1 } });
  // A cap is checked in admission, so it needs no new version.
  await changeKey(billing.database, account.accountId, id, now, (key) => ({ ...key, capDay: 100 }));
  await billing.admit(account, 1, { caller: { ...caller, keyVersion: 1 } });
});

type Step =
  | { kind: 'admit'; key: 0 | 1 | 2; units: number; answered: boolean }
  | { kind: 'end'; pick: number; units: number; release: boolean }
  | { kind: 'refund'; pick: number }
  | { kind: 'cap'; key: 0 | 1 | 2; capDay: number | null; capMonth: number | null }
  | { kind: 'wait'; ms: number };

const key = fc.constantFrom(0 as const, 1 as const, 2 as const);
const cap = fc.option(fc.integer({ min: 1, max: 80 }), { nil: null });
const step: fc.Arbitrary<Step> = fc.oneof(
  oneStep(8, 'admit', { key, units: fc.integer({ min: 0, max: 25 }), answered: fc.boolean() }),
  oneStep(4, 'end', { pick: fc.nat(), units: fc.integer({ min: 0, max: 30 }), release: fc.boolean() }),
  oneStep(2, 'refund', { pick: fc.nat() }),
  oneStep(2, 'cap', { key, capDay: cap, capMonth: cap }),
  oneStep(2, 'wait', { ms: fc.constantFrom(1_000, 6 * 3_600_000, DAY_MS, 12 * DAY_MS) }),
);

interface ModelCall {
  callId: string;
  key: number;
  at: number;
  /** Units that count: reserved while the call is open, charged afterwards. */
  units: number;
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);
const monthOf = (at: number) => dayOf(at).slice(0, 7);

/** The units that a key has used by the rule in plain words: those of its calls that were accepted in the period. */
function used(calls: readonly ModelCall[], ofKey: number, now: number) {
  const sum = (some: readonly ModelCall[]) => some.reduce((total, { units }) => total + units, 0);
  const own = calls.filter((call) => call.key === ofKey && monthOf(call.at) === monthOf(now));
  return { day: sum(own.filter(({ at }) => dayOf(at) === dayOf(now))), month: sum(own) };
}

test('after any history, calls are admitted exactly within the caps of their keys, and every unit that returns can be used again', async ({
  billing,
}) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const account = await billing.account(unlimited);
      const caps = [{ capDay: 30, capMonth: 60 }, { capDay: 20, capMonth: null }, WITHOUT_LIMITS].map(
        ({ capDay, capMonth }) => ({ capDay: capDay as number | null, capMonth: capMonth as number | null }),
      );
      const keys = [];
      for (const limits of caps) keys.push(await keyOf(billing, account, limits));
      const calls: ModelCall[] = [];
      const open: ModelCall[] = [];
      const settled: ModelCall[] = [];

      for (const taken of steps) {
        const now = billing.clock.now();
        if (taken.kind === 'wait') billing.clock.advance(taken.ms);
        else if (taken.kind === 'cap') {
          const { capDay, capMonth } = taken;
          caps[taken.key] = { capDay, capMonth };
          await changeKey(billing.database, account.accountId, keys[taken.key]?.id ?? 0, now, (present) => ({
            ...present,
            capDay,
            capMonth,
          }));
        } else if (taken.kind === 'admit') {
          const { capDay, capMonth } = caps[taken.key] ?? { capDay: null, capMonth: null };
          const { day, month } = used(calls, taken.key, now);
          const left = Math.min((capDay ?? Infinity) - day, (capMonth ?? Infinity) - month);
          const caller = keys[taken.key]?.caller as Caller;
          const answer = taken.answered ? 'shared:x' : null;
          const admission = billing.admit(account, taken.units, { caller, answer });
          if (taken.units > Math.max(0, left)) {
            expect(await refusalOf(admission)).toMatchObject({
              kind: 'KEY_CAP_REACHED',
              metadata: { remaining: Math.max(0, left) },
            });
            continue;
          }
          const call = { callId: (await admission).callId, key: taken.key, at: now, units: taken.units };
          calls.push(call);
          (taken.answered ? settled : open).push(call);
        } else if (taken.kind === 'end' && open.length > 0) {
          const [call] = open.splice(taken.pick % open.length, 1) as [ModelCall];
          if (taken.release) await billing.release(account, call.callId);
          else await billing.settle(account, call.callId, taken.units);
          call.units = taken.release ? 0 : Math.min(taken.units, call.units);
          if (!taken.release) settled.push(call);
        } else if (taken.kind === 'refund' && settled.length > 0) {
          const [call] = settled.splice(taken.pick % settled.length, 1) as [ModelCall];
          await billing.refund(account, call.callId);
          call.units = 0;
        }
      }
      const now = billing.clock.now();
      const stored = await unitsByKey(billing.database, account.accountId, now);
      for (const [i, { id }] of keys.entries())
        expect(stored.get(id) ?? { day: 0, month: 0 }).toEqual(used(calls, i, now));
      const counted = 'the units that a cap counts equal those of the calls of its key';
      const promises = { [counted]: BOOKS[counted] as string };
      expect(await auditBooks(billing.database, { accountId: account.accountId, promises })).toEqual([]);
    }),
    { numRuns: repetitions(12) },
  );
});
