import { expect } from 'vitest';
import { admit } from '../../jobs/submit.ts';
import type { AdmissionRequest, Admissions } from '../../src/billing/admission.ts';
import { createLogger } from '../../src/platform/log.ts';
import { createCallEvents } from '../../src/platform/telemetry/call-events.ts';
import { type AnswerRef, OWN_ANSWER, partialAnswerRef } from '../../src/results/answer-store.ts';
import type { BilledAccount, Billing } from '../support/billing.ts';
import { test as base } from '../support/souk-test.ts';

const PRICE = 10;
const CHARGE = { chargeId: 'cd'.repeat(16) };

/** The ids of calls, and what was reserved for each. */
type Admitted = Awaited<ReturnType<typeof admit>>;

/** An account with a call that costs 10 units and has an answer with 7 of them. */
const test = base
  .extend('payer', ({ billing }) => billing.account({ subscriptions: [{}] }))
  .extend('partial', async ({ billing, payer }) => {
    const { callId } = await billing.admit(payer, PRICE, CHARGE);
    await end(billing, payer, callId, 7, partialAnswerRef(7));
    return callId;
  });

async function end(billing: Billing, payer: BilledAccount, callId: string, units: number, answer: AnswerRef) {
  const { accountId } = payer;
  await billing.settlements.end({
    accountId,
    callId,
    units,
    answer,
    error: null,
    startedAt: null,
    attempts: 1,
  });
}

/** Requests the same call again. */
function again(billing: Billing, payer: BilledAccount, admissions: Admissions): Promise<Admitted> {
  const { clock, settlements } = billing;
  const log = createLogger('silent');
  const events = createCallEvents(log, []);
  return admit(
    { admissions, settlements, clock, events, log },
    payer.accountId,
    billing.request(payer, PRICE, CHARGE),
  );
}

/** Admissions that run a task once, after the reply to the first admission and before its caller has it. */
function interrupted(admissions: Admissions, task: () => Promise<void>): Admissions {
  let isDone = false;
  return {
    ...admissions,
    async admit(request: AdmissionRequest) {
      const admission = await admissions.admit(request);
      if (!isDone) {
        isDone = true;
        await task();
      }
      return admission;
    },
  };
}

const kindsOf = (all: readonly Admitted[]) => all.map(({ admission }) => admission.kind).sort();

test('if several requests in one round trip repeat a partial call, one continues it and the others join', async ({
  billing,
  payer,
  partial,
}) => {
  const all = await Promise.all(Array.from({ length: 4 }, () => again(billing, payer, billing.admissions)));
  expect(kindsOf(all)).toEqual(['joined', 'joined', 'joined', 'started']);
  expect(all.find(({ admission }) => admission.kind === 'started')?.unitsReserved).toBe(3);
  const ids = new Set(all.map(({ admission }) => admission.callId));
  expect(ids.size).toBe(1);
  expect(ids).not.toContain(partial);
});

test.for<[string, AnswerRef | null, object]>([
  ['is still open', null, { kind: 'joined', finished: false }],
  ['has ended', OWN_ANSWER, { kind: 'joined', finished: true, answer: OWN_ANSWER }],
])(
  'a request that has found a partial answer joins the call that another one has continued meanwhile, which %s',
  async ([_state, answer, expected], { billing, payer, partial }) => {
    let continuing = '';
    const task = async () => {
      const other = await again(billing, payer, billing.anotherGateway());
      expect(other).toMatchObject({ admission: { kind: 'started' }, unitsReserved: 3 });
      continuing = other.admission.callId;
      if (answer !== null) await end(billing, payer, continuing, 3, answer);
    };
    const { admission } = await again(billing, payer, interrupted(billing.admissions, task));
    expect(admission).toMatchObject({ ...expected, callId: continuing });
    expect(continuing).not.toBe(partial);
  },
);

test('a request that has found a partial answer continues a newer answer if there is one and it is partial, too', async ({
  billing,
  payer,
  partial,
}) => {
  const task = async () => {
    const { admission } = await again(billing, payer, billing.anotherGateway());
    await end(billing, payer, admission.callId, 2, partialAnswerRef(9));
  };
  const { admission, unitsReserved } = await again(billing, payer, interrupted(billing.admissions, task));
  expect([admission.kind, unitsReserved]).toEqual(['started', 1]);
  expect(admission.callId).not.toBe(partial);
});
