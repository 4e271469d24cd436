import { expect, test } from 'vitest';
import { createSettlements } from '../../src/billing/settlement.ts';
import { DAY_MS } from '../../src/platform/durations.ts';
import { type BilledAccount, billingOfFile } from '../support/billing.ts';

const billing = await billingOfFile();

async function metersOf({ accountId }: BilledAccount) {
  const { rows } = await billing.database.query(
    `select (select sum(day_used)::integer from subscriptions where account_id = $1) as day,
       (select sum(month_used)::integer from subscriptions where account_id = $1) as month,
       (select array_agg(remaining_units::integer order by valid_until) from packs where account_id = $1) as packs`,
    [accountId],
  );
  return rows[0];
}

async function linesOf({ accountId }: BilledAccount): Promise<string[]> {
  const { rows } = await billing.database.query(
    'select kind, source, units from ledger where account_id = $1 order by id',
    [accountId],
  );
  return rows.map(({ kind, source, units }) => `${kind} ${units} ${source}`);
}

test('settling for less releases the rest', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5);
  expect(await billing.settle(account, callId, 1)).toMatchObject({ unitsCharged: 1 });
  expect(await metersOf(account)).toMatchObject({ day: 1, month: 1 });
  expect(await linesOf(account)).toEqual([
    'reserve 5 subscription',
    'settle 1 subscription',
    'release 4 subscription',
  ]);
});

test('a call is never charged more than was reserved', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5);
  expect(await billing.settle(account, callId, 50)).toMatchObject({ unitsCharged: 5 });
  expect(await metersOf(account)).toMatchObject({ day: 5 });
});

test('a released call costs nothing', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5);
  expect(await billing.release(account, callId)).toEqual({
    endedNow: true,
    state: 'released',
    unitsCharged: 0,
  });
  expect(await metersOf(account)).toMatchObject({ day: 0, month: 0 });
});

test.each([
  ['settled', 'released'],
  ['settled', 'settled for less'],
  ['released', 'settled'],
  ['released', 'released'],
])('a call that was %s cannot be %s later', async (first, then) => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5);
  const end = (how: string) =>
    how === 'released'
      ? billing.release(account, callId)
      : billing.settle(account, callId, how === 'settled' ? 5 : 2);
  const ended = await end(first);
  const meters = await metersOf(account);
  const lines = await linesOf(account);
  expect(await end(then)).toEqual({ ...ended, endedNow: false });
  expect(await metersOf(account)).toEqual(meters);
  expect(await linesOf(account)).toEqual(lines);
});

test('exactly one of several concurrent endings takes effect', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 9);
  const processes = [1, 2, 3].map(() => createSettlements(billing.database, billing.clock.now));
  const { accountId } = account;
  const ending = { accountId, callId, answer: null, error: null, startedAt: null, attempts: 1 };
  const endings = await Promise.all(
    processes.flatMap(({ end }, i) => [0, 1, 2, 3, 4, 5].map((n) => end({ ...ending, units: n + i }))),
  );
  const [winner] = endings.filter((ending) => ending?.endedNow);
  expect(endings.filter((ending) => ending?.endedNow)).toHaveLength(1);
  expect(new Set(endings.map((ending) => ending?.unitsCharged))).toEqual(new Set([winner?.unitsCharged]));
  expect(await metersOf(account)).toMatchObject({ day: winner?.unitsCharged });
});

test('an unknown call cannot be ended', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const other = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5);
  expect(await billing.release(other, callId)).toBeNull();
  expect(await metersOf(account)).toMatchObject({ day: 5 });
});

test('a call that drew on several sources returns units to the last one first', async () => {
  const account = await billing.account({
    subscriptions: [{ dailyLimit: 10 }],
    packs: [
      { units: 10, validUntil: new Date('2026-05-01') },
      { units: 10, validUntil: new Date('2026-04-01') },
    ],
  });
  const { callId } = await billing.admit(account, 25);
  expect(await metersOf(account)).toEqual({ day: 10, month: 10, packs: [0, 5] });
  await billing.settle(account, callId, 12);
  expect(await metersOf(account)).toEqual({ day: 10, month: 10, packs: [8, 10] });
});

test("units drawn yesterday return to the month's meter, not to today's", async () => {
  const startsAt = new Date('2026-03-01');
  const account = await billing.account({ subscriptions: [{ startsAt }] });
  const { callId } = await billing.admit(account, 8);
  billing.clock.advance(DAY_MS);
  await billing.admit(account, 3);
  await billing.release(account, callId);
  expect(await metersOf(account)).toMatchObject({ day: 3, month: 3 });
});

test("units drawn last month do not return to this month's meters", async () => {
  const account = await billing.account({ subscriptions: [{ startsAt: new Date('2026-03-01') }] });
  const { callId } = await billing.admit(account, 8);
  billing.clock.advance(31 * DAY_MS);
  await billing.admit(account, 3);
  await billing.release(account, callId);
  expect(await metersOf(account)).toMatchObject({ day: 3, month: 3 });
});

test('a refund returns the units of a settled call to the sources that gave them', async () => {
  const account = await billing.account({ subscriptions: [{ dailyLimit: 10 }], packs: [{ units: 10 }] });
  const { callId } = await billing.admit(account, 15);
  await billing.settle(account, callId, 12);
  expect(await metersOf(account)).toEqual({ day: 10, month: 10, packs: [8] });
  expect(await billing.refund(account, callId)).toBe(12);
  expect(await metersOf(account)).toEqual({ day: 0, month: 0, packs: [10] });
  expect((await linesOf(account)).slice(-2)).toEqual(['refund 10 subscription', 'refund 2 pack']);
  expect(await billing.settle(account, callId, 12)).toEqual({
    endedNow: false,
    state: 'released',
    unitsCharged: 0,
  });
});

test('exactly one of several concurrent refunds takes effect', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5, { answer: 'own' });
  const refunds = await Promise.all([1, 2, 3, 4].map(() => billing.refund(account, callId)));
  expect(refunds.filter((units) => units !== null)).toEqual([5]);
  expect(await metersOf(account)).toMatchObject({ day: 0, month: 0 });
});

test('a refund does not change a call that is open, released or of another account', async () => {
  const [account, other] = [
    await billing.account({ subscriptions: [{}] }),
    await billing.account({ subscriptions: [{}] }),
  ];
  const [open, released, settled] = [
    await billing.admit(account, 1),
    await billing.admit(account, 2),
    await billing.admit(account, 4, { answer: 'own' }),
  ];
  await billing.release(account, released.callId);
  expect(await billing.refund(account, open.callId)).toBeNull();
  expect(await billing.refund(account, released.callId)).toBeNull();
  expect(await billing.refund(other, settled.callId)).toBeNull();
  expect(await metersOf(account)).toMatchObject({ day: 5, month: 5 });
});

test('an identical call after a refund is a new call', async () => {
  const account = await billing.account({ subscriptions: [{}] });
  const request = billing.request(account, 3, { answer: 'own' });
  const { callId } = await billing.admissions.admit(request);
  await billing.refund(account, callId);
  const again = { ...billing.request(account, 3), chargeId: request.chargeId };
  expect(await billing.admissions.admit(again)).toMatchObject({ kind: 'started', callId: again.callId });
});

test.each([
  ['yesterday', 24],
  ['last month', 31 * 24],
])('a refund of a call of %s does not lower the meters of today', async (_when, hours) => {
  const account = await billing.account({ subscriptions: [{ startsAt: new Date('2026-03-01') }] });
  const { callId } = await billing.admit(account, 8, { answer: 'own' });
  billing.clock.advance(hours * 3_600_000);
  await billing.admit(account, 3);
  await billing.refund(account, callId);
  expect(await metersOf(account)).toMatchObject({ day: 3, month: 3 });
});

test.each([
  ['does not wait for the disk if the call is charged what was reserved', 5, null, 'off'],
  ['waits for the disk if units are released', 4, null, 'on'],
  ['waits for the disk if the call is released', 0, { kind: 'UPSTREAM_ERROR' }, 'on'],
])('the end of a call %s', async (_what, units, error, expected) => {
  const account = await billing.account({ subscriptions: [{}] });
  const { callId } = await billing.admit(account, 5);
  const client = await billing.database.connect();
  try {
    // The databases of tests never wait otherwise.
    await client.query('begin; set local synchronous_commit = on');
    await client.query(
      'select souk_finish(now(), $1, $2, $3, array[null], $4, array[null]::timestamptz[], array[1])',
      [[account.accountId], [callId], [units], [error && JSON.stringify(error)]],
    );
    const { rows } = await client.query('show synchronous_commit');
    expect(rows).toEqual([{ synchronous_commit: expected }]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});
