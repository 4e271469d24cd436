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
    ...chargedInVain(rows, observations),
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
  if (jobId !== null) expect('a job that a client was told of exists', call?.account_id === accountId);
  if (outcome === 'answered') {
    // A refund comes after an answer: a later request for it found it lost, and was told of a failure.
    const isRefunded = call?.refunded === true && call.state === 'released';
    expect('an answered call is settled', isRefunded || call?.state === 'settled');
    if (said !== '200 joined')
      expect('an answered call cost what its client was told', isRefunded || call?.units_charged === units);
    else expect('a joined call costs nothing', units === 0);
  }
  if (outcome === 'failed') {
    expect('a failure says that it cost nothing', units === 0);
    if (call) expect('a failed call is not charged', call.state === 'released' && call.units_charged === 0);
  }
  return faults;
}

/**
 * A call that is charged, though everybody who asked for it was told of a failure that costs nothing. Failures of
 * before a call had a name are found by the claim and the time.
 */
function chargedInVain(calls: readonly CallRow[], observations: readonly Observation[]): Fault[] {
  const told = new Set(observations.filter(({ outcome }) => outcome !== 'failed').map(({ jobId }) => jobId));
  const byClaim = new Map<string, Observation[]>();
  for (const observation of observations) {
    const claim = `${observation.accountId} ${observation.request.chargeId}`;
    byClaim.set(claim, [...(byClaim.get(claim) ?? []), observation]);
  }
  return calls
    .filter(({ state, units_charged: charged, id }) => state === 'settled' && charged > 0 && !told.has(id))
    .flatMap((call) => {
      const askedFor = (byClaim.get(`${call.account_id} ${call.charge_id}`) ?? []).filter(
        ({ sentAt, endedAt }) =>
          sentAt <= call.accepted_at.getTime() && endedAt >= call.accepted_at.getTime(),
      );
      const failed = askedFor.filter(({ outcome }) => outcome === 'failed');
      if (failed.length === 0 || askedFor.some(({ outcome }) => outcome === 'unheard')) return [];
      const said = failed.map((one) => one.said).join(', ');
      return [
        { promise: 'what failed costs nothing', row: { ...call, said, path: failed[0]?.request.path } },
      ];
    });
}
