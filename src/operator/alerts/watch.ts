import type { ClientBase } from 'pg';
import type { Clock } from '../../platform/clock.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { unixMs } from '../../platform/db/rows.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { SECOND_MS } from '../../platform/durations.ts';
import type { Logger } from '../../platform/log.ts';
import { type AlertState, isFiring, nextState, WELL } from './alert-state.ts';
import { ALERT_NAMES, ALERTS, type Alert, type AlertName } from './alerts.ts';
import { type AlertLine, MEASURES, type MeasureDeps } from './measures.ts';
import { type AlertReceivers, queueMessages } from './messages.ts';

/** An alert that takes longer to measure has failed. All are measured at the same time, within the lease of the process. */
const MEASURE_LIMIT_MS = 10 * SECOND_MS;

/** The most lines of an alert. */
const MOST_LINES = 50;

interface WatchDeps extends MeasureDeps {
  log: Logger;
  receivers: AlertReceivers;
}

/**
 * Measures all alerts, stores their states, and queues messages about those that have begun, go on, or are over. One that cannot be
 * measured keeps its state and is logged. Several processes may do so at the same time.
 */
export async function watchAlerts(deps: WatchDeps): Promise<void> {
  const { database, clock, log, receivers } = deps;
  const now = clock.now();
  const measured = await Promise.all(
    ALERT_NAMES.map(async (name) => ({ name, lines: await measure(deps, name, now) })),
  );
  await inTransaction(database, async (client) => {
    const states = await lockStates(client);
    for (const { name, lines } of measured) {
      if (lines === null) continue;
      const before = states.get(name) ?? WELL;
      const { state, news } = nextState(before, ALERTS[name], lines, now);
      if (state === before) continue;
      await storeState(client, name, state);
      if (news === null) continue;
      // The lines of an alert that is over are those it had.
      const notified = { name, news, state: news === 'over' ? before : state };
      log.warn({ alert: name, news, lines: notified.state.lines }, 'alert of the operator');
      await queueMessages(client, receivers, notified, now);
    }
  });
}

/** @returns null if the alert is only measured by Prometheus, or could not be measured in time. */
async function measure(deps: WatchDeps, name: AlertName, now: number): Promise<AlertLine[] | null> {
  const { clock, log } = deps;
  const figures = MEASURES[name];
  if (figures === null) return null;
  try {
    return (await withinLimit(clock, figures(deps, now))).slice(0, MOST_LINES);
  } catch (error) {
    log.error({ err: error, alert: name }, 'failed to measure an alert');
    return null;
  }
}

/** @throws if there is no answer in time. The work itself goes on until its store ends it. */
async function withinLimit<Value>(clock: Clock, work: Promise<Value>): Promise<Value> {
  let cancel = () => {};
  const limit = new Promise<never>((_resolve, reject) => {
    const fail = () => reject(new Error(`no answer within ${MEASURE_LIMIT_MS / 1000} seconds`));
    cancel = clock.after(MEASURE_LIMIT_MS, fail, 'measure of an alert');
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    cancel();
  }
}

const STATE = `name, ${unixMs('since')} as since, ${unixMs('seen_at')} as "seenAt", lines, notified, ${unixMs('notified_at')} as "notifiedAt",
  ${unixMs('silenced_until')} as "silencedUntil"`;

type StateRow = AlertState & { name: string };

/** Returns the states of all alerts that have one. They stay locked until the end of the transaction. */
async function lockStates(client: ClientBase): Promise<Map<string, AlertState>> {
  // All rows exist, so that two processes cannot both send the first message.
  await client.query(
    'insert into alerts (name) select * from unnest($1::text[]) order by 1 on conflict do nothing',
    [ALERT_NAMES],
  );
  const { rows } = await client.query<StateRow>(`select ${STATE} from alerts order by name for update`);
  return new Map(rows.map(({ name, ...state }) => [name, state]));
}

async function storeState(client: ClientBase, name: AlertName, state: AlertState): Promise<void> {
  const { since, seenAt, lines, notified, notifiedAt } = state;
  const at = (time: number | null) => (time === null ? null : new Date(time));
  await client.query(
    'update alerts set since = $2, seen_at = $3, lines = $4, notified = $5, notified_at = $6 where name = $1',
    [name, at(since), at(seenAt), JSON.stringify(lines), notified, at(notifiedAt)],
  );
}

/** An alert with its state, as it is shown. */
export interface ShownAlert {
  name: AlertName;
  alert: Alert;
  /** `pending`: its condition holds, but not for long enough. `prometheus`: Souk does not measure it. */
  level: 'firing' | 'pending' | 'well' | 'prometheus';
  state: AlertState;
}

/** Returns all alerts: first those that fire. */
export async function listAlerts(database: Queryable, now: number): Promise<ShownAlert[]> {
  const { rows } = await database.query<StateRow>(`select ${STATE} from alerts`);
  const shown = ALERT_NAMES.map((name): ShownAlert => {
    const state = rows.find((row) => row.name === name) ?? WELL;
    return { name, alert: ALERTS[name], level: levelOf(name, state, now), state };
  });
  const order = ['firing', 'pending', 'well', 'prometheus'];
  return shown.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

function levelOf(name: AlertName, state: AlertState, now: number): ShownAlert['level'] {
  if (MEASURES[name] === null) return 'prometheus';
  if (isFiring(state, ALERTS[name], now)) return 'firing';
  return state.since === null ? 'well' : 'pending';
}

/** Silences an alert until a time; null: ends its silence. @returns until when it was silenced before. */
export async function silenceAlert(
  client: Queryable,
  name: AlertName,
  until: Date | null,
): Promise<Date | null> {
  const { rows } = await client.query<{ before: Date | null }>(
    `insert into alerts as a (name, silenced_until) values ($1, $2)
     on conflict (name) do update set silenced_until = excluded.silenced_until
     returning (select silenced_until from alerts where name = $1) as before`,
    [name, until],
  );
  return rows[0]?.before ?? null;
}
