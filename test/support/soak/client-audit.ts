import type { Database } from '../../../src/platform/db/pool.ts';
import type { Observation } from './clients.ts';
import type { Fault } from './ledger-audit.ts';

interface CallRow {
  account_id: number;
  id: string;
  charge_id: string;
  state: 'reserved' | 'settled' | 'released';
  units_charged: number;
  accepted_at: Date;
  /** The call was settled, and then refunded because its answer was lost. */
  refunded: boolean;
}

/**
 * Compares the answers that clients received with their charges.
 * @param observations all answers that clients received, including results that they fetched later.
 */
export async function auditClients(
  database: Database,
  observations: readonly Observation[],
): Promise<Fault[]> {
  const { rows } = await database.query<CallRow>(
    `select account_id, id, encode(substring(claim_key for 16), 'hex') as charge_id, state, units_charged, accepted_at,
       exists (select 1 from ledger l where l.account_id = c.account_id and l.call_id = c.id and l.kind = 'refund') as refunded
     from calls c`,
  );
  const calls = new Map(rows.map((row) => [row.id, row]));
  return [
    ...observations.flatMap((observation) => faultsOf(observation, calls)),
    ...chargedWithoutAnswer(rows, observations),
  ];
}

function faultsOf(observation: Observation, calls: ReadonlyMap<string, CallRow>): Fault[] {
  const { accountId, outcome, said, jobId, units, request } = observation;
  const call = jobId === null ? undefined : calls.get(jobId);
  const row = {
    ...{ accountId, path: request.path, said, jobId, units },
    ...(call ? { state: call.state, charged: call.units_charged, refunded: call.refunded } : {}),
  };
  const faults: Fault[] = [];
  const expect = (promise: string, holds: boolean) => {
    if (!holds) faults.push({ promise, row });
  };
  if (jobId !== null) expect('a job whose id a client received exists', call?.account_id === accountId);
  if (outcome === 'answered') {
    // A refund follows an answer: a later request found the answer lost, and received an error.
    const isRefunded = call?.refunded === true && call.state === 'released';
    expect('an answered call is settled', isRefunded || call?.state === 'settled');
    if (said !== '200 joined')
      expect('an answered call cost the units in its answer', isRefunded || call?.units_charged === units);
    else expect('a joined call costs nothing', units === 0);
  }
  if (outcome === 'failed') {
    expect('an error states 0 units', units === 0);
    if (call) expect('a failed call is not charged', call.state === 'released' && call.units_charged === 0);
  }
  return faults;
}

/**
 * Finds calls that are charged although every client that requested them received an error. Errors without a call id
 * are matched by the claim and the time.
 */
function chargedWithoutAnswer(calls: readonly CallRow[], observations: readonly Observation[]): Fault[] {
  const answered = new Set(
    observations.filter(({ outcome }) => outcome !== 'failed').map(({ jobId }) => jobId),
  );
  const byClaim = new Map<string, Observation[]>();
  for (const observation of observations) {
    const claim = `${observation.accountId} ${observation.request.chargeId}`;
    byClaim.set(claim, [...(byClaim.get(claim) ?? []), observation]);
  }
  return calls
    .filter(
      ({ state, units_charged: charged, id }) => state === 'settled' && charged > 0 && !answered.has(id),
    )
    .flatMap((call) => {
      const askedFor = (byClaim.get(`${call.account_id} ${call.charge_id}`) ?? []).filter(
        ({ sentAt, endedAt }) =>
          sentAt <= call.accepted_at.getTime() && endedAt >= call.accepted_at.getTime(),
      );
      const failed = askedFor.filter(({ outcome }) => outcome === 'failed');
      if (failed.length === 0 || askedFor.some(({ outcome }) => outcome === 'unheard')) return [];
      const said = failed.map((one) => one.said).join(', ');
      return [
        {
          promise: 'a call of which every client received an error is not charged',
          row: { ...call, said, path: failed[0]?.request.path },
        },
      ];
    });
}
