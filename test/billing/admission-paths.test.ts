import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEDUPLICATION_SECONDS } from '../../src/billing/admission.ts';
import { encode } from '../../src/billing/admission-request.ts';
import { type BilledAccount, type Billing, OFF_PEAK, openBilling } from '../support/billing.ts';
import { repetitions } from '../support/repetitions.ts';

let billing: Billing;
beforeAll(async () => {
  billing = await openBilling();
});
afterAll(() => billing.close());

interface Call {
  account: number;
  key: 'first' | 'second' | 'revoked' | 'unknown';
  charge: number;
  units: number;
  answered: boolean;
  dry: boolean;
}

/** Two accounts, each with several keys; a pair has a twin that is granted the same. */
type Pair = readonly (Record<Call['key'], Buffer> & BilledAccount)[];

const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: null });
const sources = fc.record({
  subscriptions: fc.uniqueArray(
    fc.record({
      wallet: fc.constantFrom('general' as const, 'off_peak' as const),
      minuteLimit: limit(8),
      dailyLimit: limit(40),
      monthlyLimit: limit(60),
    }),
    { maxLength: 2, selector: ({ wallet }) => wallet },
  ),
  packs: fc.array(
    fc.record({
      wallet: fc.constantFrom('general' as const, 'off_peak' as const),
      units: fc.integer({ min: 1, max: 30 }),
      rate: fc.integer({ min: 1, max: 8 }),
    }),
    { maxLength: 2 },
  ),
});
const call: fc.Arbitrary<Call> = fc.record({
  account: fc.integer({ min: 0, max: 1 }),
  key: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('first' as const, 'second' as const) },
    { weight: 1, arbitrary: fc.constantFrom('revoked' as const, 'unknown' as const) },
  ),
  charge: fc.integer({ min: 0, max: 30 }),
  // Free calls are answered without an admission.
  units: fc.integer({ min: 1, max: 12 }),
  answered: fc.boolean(),
  dry: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
});
const round = fc.record({
  advanceMs: fc.constantFrom(0, 1_000, 61_000, 301_000, 4_000_000, 50_000_000, 86_400_000),
  calls: fc.array(call, { minLength: 1, maxLength: 12 }),
});

async function openPair(grants: readonly Parameters<Billing['account']>[0][]): Promise<Pair> {
  const pair = [];
  for (const grant of grants) {
    const account = await billing.account(grant);
    const [second, revoked, unknown] = [0, 1, 2].map(() => createHash('sha256').update(uuid()).digest());
    if (!second || !revoked || !unknown) throw new Error('three keys were asked for');
    for (const [hash, revokedAt] of [
      [second, null],
      [revoked, new Date(billing.clock.now())],
    ]) {
      await billing.database.query(
        'insert into api_keys (hash, account_id, prefix, created_at, revoked_at) values ($1, $2, $3, $4, $5)',
        [hash, account.accountId, 'km_test', new Date(billing.clock.now()), revokedAt],
      );
    }
    pair.push({ ...account, first: account.keyHash, second, revoked, unknown });
  }
  return pair;
}

/** Sends a batch down one of the two paths. Calls are named by `label`, so that twins can be compared. */
async function admit(
  path: 'quick' | 'each',
  pair: Pair,
  calls: readonly Call[],
  labels: Map<string, string>,
) {
  const now = billing.clock.now();
  const callIds = calls.map((_, i) => {
    const id = uuid();
    labels.set(id, `${now}/${i}`);
    return id;
  });
  const window = [OFF_PEAK.start, OFF_PEAK.end, OFF_PEAK.timezone];
  const asked = encode(
    calls.map(({ account, key, charge, units, answered, dry }, i) => ({
      caller: { keyHash: pair[account]?.[key] as Buffer, keyAccountId: pair[account]?.accountId as number },
      callId: callIds[i] as string,
      operation: 'market.product',
      chargeId: createHash('md5').update(String(charge)).digest('hex'),
      units,
      pool: 'market',
      deadlineAt: now + 60_000,
      input: { charge },
      answer: answered ? `shared:${charge}` : null,
      background: false,
      dry,
    })),
  );
  const start = [new Date(now), DEDUPLICATION_SECONDS, ...window];
  const { rows } =
    path === 'quick'
      ? await billing.database.query(`select * from souk_admit_calls(${parameters(22)}) order by idx`, [
          ...start,
          'infinity',
          ...asked,
        ])
      : await billing.database.query(
          `select * from souk_admit_each(${parameters(22)}, '{}', '{}', '{}') order by idx`,
          [calls.map((_, i) => i + 1), ...start, ...asked],
        );
  return rows.map((row) => {
    const { idx, outcome, wallet, source, reset_at, minute_limit, minute_left } = row;
    const label = labels.get(row.call_id);
    switch (outcome) {
      case 'admitted':
        // A dry call may be processed before or after the others, so its place in the minute is not compared.
        if (calls[idx - 1]?.dry) return { idx, outcome, wallet, source };
        return { idx, outcome, label, wallet, source, reset_at, minute_limit, minute_left };
      case 'joined':
        return { idx, outcome, label, state: row.joined_state, answer: row.joined_answer };
      case 'refused':
        return { idx, outcome, wallet, reset_at, reason: row.reason, remaining: row.remaining };
      default:
        return { idx, outcome };
    }
  });
}

const parameters = (count: number) => Array.from({ length: count }, (_, i) => `$${i + 1}`).join();

/** Returns all rows of a pair, with the same names as for its twin. */
async function stateOf(pair: Pair, labels: Map<string, string>): Promise<unknown> {
  const state = [];
  for (const { accountId } of pair) {
    const ask = async (query: string) => (await billing.database.query(query, [accountId])).rows;
    const subscriptions = await ask('select * from subscriptions where account_id = $1 order by id');
    const packs = await ask('select * from packs where account_id = $1 order by id');
    const names = new Map<string, string>([
      ...subscriptions.map(({ id }, i) => [`subscription ${id}`, `subscription ${i}`] as const),
      ...packs.map(({ id }, i) => [`pack ${id}`, `pack ${i}`] as const),
    ]);
    const source = (row: { source: string; source_id: number }) =>
      names.get(`${row.source} ${row.source_id}`);
    const calls = await ask(
      `select id, operation, state, pool, units_reserved, units_charged, accepted_at, deadline_at, finished_at,
         answer, input, draws from calls where account_id = $1`,
    );
    const ledger = await ask('select * from ledger where account_id = $1 order by id');
    state.push({
      subscriptions: await ask(
        `select wallet, minute_start, minute_used, day_start, day_used, month_start, month_end, month_used
         from subscriptions where account_id = $1 order by id`,
      ),
      packs: packs.map(({ remaining_units }) => remaining_units),
      minute: await ask('select pack_minute_start, pack_minute_used from accounts where id = $1'),
      calls: calls
        .map(({ id, draws, ...row }) => ({
          ...row,
          label: labels.get(id),
          draws: draws?.map(
            (draw: {
              source: string;
              source_id: number;
              units: number;
              day_start: string;
              month_start: string;
            }) => ({
              source: source(draw),
              units: draw.units,
              day: draw.day_start && Date.parse(draw.day_start),
              month: draw.month_start && Date.parse(draw.month_start),
            }),
          ),
        }))
        .sort((a, b) => String(a.label).localeCompare(String(b.label))),
      ledger: ledger
        .map(({ at, kind, units, call_id, ...row }) =>
          [at.toISOString(), labels.get(call_id), kind, units, source(row as never)].join(' '),
        )
        .sort(),
    });
  }
  return state;
}

test('the quick path and the general path of admission give the same outcome for the same batches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(sources, sources),
      fc.array(round, { minLength: 1, maxLength: 4 }),
      async (grants, rounds) => {
        const [quick, each] = [await openPair(grants), await openPair(grants)];
        const labels = new Map<string, string>();
        for (const { advanceMs, calls } of rounds) {
          billing.clock.advance(advanceMs + 1);
          const outcome = await admit('quick', quick, calls, labels);
          expect(outcome).toEqual(await admit('each', each, calls, labels));
          expect(await stateOf(quick, labels)).toEqual(await stateOf(each, labels));
        }
      },
    ),
    { numRuns: repetitions(15) },
  );
});
