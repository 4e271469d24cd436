import { expect } from 'vitest';
import { createFairness } from '../../jobs/queues.ts';
import { type CallRequest, type Submission, type SubmitDeps, submit } from '../../jobs/submit.ts';
import type { Admissions } from '../../src/billing/admission.ts';
import { queuedOperation } from '../../src/operations/index.ts';
import { createLogger } from '../../src/platform/log.ts';
import { retryDuringOutage } from '../../src/platform/outage.ts';
import type { BilledAccount, Billing } from '../support/billing.ts';
import { TestClock } from '../support/clock.ts';
import { whileLocked } from '../support/locked-account.ts';
import { test } from '../support/souk-test.ts';
import { advanceUntil } from '../support/time.ts';

const BROKEN = new Error('Connection terminated unexpectedly');
const TOO_LATE = new Error('Query read timeout');
const REFUSED = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });

/** The dependencies of a submission, with an admission that fails as the test requires. */
function depsWith(
  billing: Billing,
  admit: Admissions['admit'],
  admissions: Partial<Admissions> = {},
): SubmitDeps {
  const { settlements, database, clock } = billing;
  return {
    settlements,
    database,
    clock,
    reports: { live: database, test: database },
    providers: { products: 'p', trends: 't', reports: 'r' },
    events: { emit: () => {} },
    log: createLogger('silent'),
    admissions: { ...billing.admissions, ...admissions, admit },
    answers: { findShared: async () => null } as unknown as SubmitDeps['answers'],
    backlog: { estimateWaitMs: async () => 0 } as unknown as SubmitDeps['backlog'],
    queues: {} as SubmitDeps['queues'],
    fairness: createFairness(clock.now),
    completionChannel: 'no process',
  };
}

function requestOf({ accountId, keyHash }: BilledAccount): CallRequest {
  const operation = queuedOperation('market.product');
  if (!operation) throw new Error('there is no such operation');
  const input = operation.params.parse({ domain: '1', asins: 'B0AWAY0001,B0AWAY0002' });
  return { operation, input, caller: { accountId, keyHash }, maxUnits: null, waiting: 'caller' };
}

function started(submission: Submission): Extract<Submission, { kind: 'started' }> {
  if (submission.kind !== 'started') throw new Error(`the call was ${submission.kind}`);
  return submission;
}

async function statesOf({ database }: Billing, { accountId }: BilledAccount): Promise<string[]> {
  const { rows } = await database.query<{ state: string }>('select state from calls where account_id = $1', [
    accountId,
  ]);
  return rows.map(({ state }) => state);
}

async function callsOf(
  { database }: Billing,
  { accountId }: BilledAccount,
): Promise<{ id: string; units_reserved: number }[]> {
  const { rows } = await database.query<{ id: string; units_reserved: number }>(
    'select id, units_reserved from calls where account_id = $1',
    [accountId],
  );
  return rows;
}

test.for([
  ['before the call was admitted', false],
  ['after the call was admitted', true],
] as const)('starts a call once if its connection breaks %s', async ([_when, counted], { billing }) => {
  const account = await billing.account({ subscriptions: [{}] });
  let attempts = 0;
  const deps = depsWith(billing, async (request) => {
    attempts += 1;
    if (attempts > 1) return billing.admissions.admit(request);
    if (counted) await billing.admissions.admit(request);
    throw BROKEN;
  });
  const submission = submit(deps, requestOf(account));
  await advanceUntil(billing.clock, () => attempts > 1, 50);
  const { kind, callId } = await submission;
  expect(kind).toBe('started');
  expect(await callsOf(billing, account)).toEqual([{ id: callId, units_reserved: 2 }]);
});

// The process may end as soon as it has refused the request, so nothing may be left to do.
test('a call whose admission is answered too late is released before its caller is refused', async ({
  billing,
}) => {
  const account = await billing.account({ subscriptions: [{}] });
  const admitLate: Admissions['admit'] = async (request) => {
    await billing.admissions.admit(request);
    throw TOO_LATE;
  };
  const deps = depsWith(billing, admitLate, { undecidedForMs: () => 0 });
  await expect(submit(deps, requestOf(account))).rejects.toBe(TOO_LATE);
  expect(await statesOf(billing, account)).toEqual(['released']);
});

test('a caller whose job cannot be queued is refused, and its call is released', async ({ billing }) => {
  const account = await billing.account({ subscriptions: [{}] });
  const deps = depsWith(billing, (request) => billing.admissions.admit(request));
  const submission = await submit(deps, requestOf(account));
  await expect(started(submission).enqueue()).rejects.toMatchObject({ kind: 'BUSY' });
  expect(await statesOf(billing, account)).toEqual(['released']);
});

test('if a call can neither be queued nor released, its caller waits for its end', async ({ billing }) => {
  const account = await billing.account({ subscriptions: [{}] });
  const deps = depsWith(billing, (request) => billing.admissions.admit(request));
  const submission = await submit(deps, requestOf(account));
  await whileLocked(billing.database, account, () => started(submission).enqueue());
  expect(await statesOf(billing, account)).toEqual(['reserved']);
});

test('stops waiting for a database that stays unavailable', async () => {
  const clock = new TestClock();
  const startedAt = clock.now();
  let outcome: unknown = null;
  const waiting = retryDuringOutage(clock, () => Promise.reject(REFUSED)).catch((error: unknown) => {
    outcome = error;
  });
  await advanceUntil(clock, () => outcome !== null, 500);
  await waiting;
  expect(outcome).toBe(REFUSED);
  expect(clock.now() - startedAt).toBeLessThan(20_000);
});

test('does not repeat a statement that the database refuses', async ({ billing }) => {
  let attempts = 0;
  const ask = () => {
    attempts += 1;
    return billing.database.query('select no_such_column from calls');
  };
  await expect(retryDuringOutage(billing.clock, ask)).rejects.toThrow('no_such_column');
  expect(attempts).toBe(1);
});
