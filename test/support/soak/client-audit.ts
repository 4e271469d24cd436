import type { Database } from '../../../src/platform/db/pool.ts';
import type { Fault } from './ledger-audit.ts';

/** A refund follows an answer: a later request found the answer lost, and received an error. */
const REFUNDED = `(c.state = 'released' and exists (
  select 1 from ledger l where l.account_id = c.account_id and l.call_id = c.id and l.kind = 'refund'))`;

/** The answers that clients received, with their calls. */
const HEARD = `
  select o.account_id, o.kind, o.path, o.said, o.units, o.job_id, c.state, c.units_charged
  from soak_observations o join calls c on c.account_id = o.account_id and c.id = o.job_id`;

/** Each query returns the rows that violate a rule. Errors without a call id are matched by the claim and the time. */
const AUDITS: Record<string, string> = {
  'a job whose id a client received exists': `
    select o.* from soak_observations o
    where o.job_id is not null and not exists (
      select 1 from calls c where c.account_id = o.account_id and c.id = o.job_id)`,
  'an answered call is settled': `
    ${HEARD} where o.outcome = 'answered' and o.kind <> 'cancel' and c.state <> 'settled' and not ${REFUNDED}`,
  'an answered call cost the units in its answer': `
    ${HEARD} where o.outcome = 'answered' and o.kind <> 'cancel' and o.said <> '200 joined'
      and c.units_charged <> o.units and not ${REFUNDED}`,
  'a joined call costs nothing': `
    select * from soak_observations where said = '200 joined' and units <> 0`,
  'an error states 0 units': `
    select * from soak_observations where outcome = 'failed' and units <> 0`,
  'a failed call is not charged': `
    ${HEARD} where o.outcome = 'failed' and (c.state <> 'released' or c.units_charged <> 0)`,
  'a call of which every client received an error is not charged': `
    select c.account_id, c.id as job_id, c.units_charged, min(o.path) as path, string_agg(o.said, ', ') as said
    from calls c join soak_observations o on o.account_id = c.account_id and o.kind = 'call'
      and o.charge_id = encode(substring(c.claim_key for 16), 'hex')
      and c.accepted_at between o.sent_at and o.ended_at
    where c.state = 'settled' and c.units_charged > 0 and not exists (
      select 1 from soak_observations a
      where a.account_id = c.account_id and a.job_id = c.id and a.outcome <> 'failed')
    group by c.account_id, c.id, c.units_charged
    having bool_or(o.outcome = 'failed') and not bool_or(o.outcome = 'unheard')`,
  'every request is answered in time': `
    select * from soak_observations where said in ('UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT')`,
  'every accepted job has a result': `
    select * from soak_observations
    where kind = 'result' and outcome not in ('answered', 'failed') or kind = 'poll' and said like '404%'`,
};

/** The most rows of a rule that are reported. */
const MOST = 1_000;

/** Compares the answers that clients received, with results that they fetched later, with the calls and their charges. */
export async function auditClients(database: Pick<Database, 'query'>): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [promise, query] of Object.entries(AUDITS)) {
    const { rows } = await database.query<Record<string, unknown>>(`${query} limit ${MOST}`);
    for (const row of rows) faults.push({ promise, row });
  }
  return faults;
}

/** Adds the answers that the clients of a call received to the row of a fault, in order. */
export async function addHistory(database: Database, row: Record<string, unknown>): Promise<void> {
  const id = row.job_id ?? row.id ?? row.second;
  if (typeof id !== 'string') return;
  const { rows } = await database.query<{ line: string }>(
    `select concat(to_char(sent_at, 'HH24:MI:SS.MS'), ' to ', to_char(ended_at, 'HH24:MI:SS.MS'), ': ', kind, ' ', said) as line
     from soak_observations where job_id::text = $1 order by ended_at`,
    [id],
  );
  const call = await database.query('select to_jsonb(c) as call from calls c where id::text = $1', [id]);
  if (rows.length > 0) row.history = rows.map(({ line }) => line);
  if (call.rows[0]) row.call = call.rows[0].call;
}

/** The number of answers of each kind. */
export async function tally(database: Database): Promise<Record<string, number>> {
  const { rows } = await database.query<{ name: string; count: string }>(
    `select concat(kind, ' ', outcome, ': ', said) as name, count(*) as count from soak_observations group by 1 order by 1`,
  );
  return Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]));
}
