import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/pool.ts';
import { createClient } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import type { Dice } from './dice.ts';
import type { History } from './history-file.ts';
import type { SoakReceiver } from './receiver.ts';

export interface ScheduleLoad {
  /** The schedules of each account. */
  readonly ids: ReadonlyMap<number, string[]>;
  /** Moves no further due times, waits for the runs that are due, and pauses all schedules. */
  stop(): Promise<void>;
}

const PAUSE_MS = 1_500;

/** How far from now a due time is moved. */
const AHEAD = '300 milliseconds';

/** How long a due run may take after all processes have been restarted. */
const PATIENCE_MS = 60_000;

/**
 * Creates two schedules for each account, one of them with `onlyChanges`. They are due every minute. Their next due
 * times are moved forward repeatedly, so that a short run has ticks too, also between kills.
 */
export async function startSchedules(options: {
  database: Database;
  gateways: readonly string[];
  accounts: readonly SoakAccount[];
  receiver: SoakReceiver;
  dice: Dice;
  history: History;
}): Promise<ScheduleLoad> {
  const { database, gateways, accounts, receiver, dice, history } = options;
  const owners = new Map<string, number>();
  const ids = new Map<number, string[]>();
  for (const [i, { accountId, name, key }] of accounts.entries()) {
    for (const onlyChanges of [false, true]) {
      const asins = Array.from({ length: onlyChanges ? 12 : 3 }, (_, nth) => `B0TICK${i}${100 + nth}`);
      const params = { domain: 1, detailLevel: 'summary' };
      const webhook = receiver.urlOf(accountId);
      const reply = await createClient(gateways[0] ?? '', key).post('/api/schedules', {
        name,
        cron: '* * * * *',
        onlyChanges,
        runHours: 1,
        batch: { operation: 'market.product', params, split: { asins }, webhook },
      });
      if (reply.status !== 201) throw new Error(`No schedule was made: ${reply.text}`);
      const { scheduleId } = reply.json.data;
      owners.set(scheduleId, accountId);
      ids.set(accountId, [...(ids.get(accountId) ?? []), scheduleId]);
    }
  }

  let stopped = false;

  async function bringNearer(): Promise<void> {
    while (!stopped) {
      const scheduleId = dice.pick([...owners.keys()]);
      // If PostgreSQL is unavailable, an unconfirmed change may have been made, but its tick is not expected.
      const set = await database
        .query<{ dueAt: Date }>(
          `update schedules set next_due_at = now() + interval '${AHEAD}'
           where id = $1 and next_due_at > now() + interval '1 second' returning next_due_at as "dueAt"`,
          [scheduleId],
        )
        .catch(() => ({ rows: [] }));
      for (const { dueAt } of set.rows)
        history.note({
          kind: 'tick',
          account: owners.get(scheduleId) ?? 0,
          scheduleId,
          dueAt: dueAt.getTime(),
        });
      await pause(dice.integer(50, PAUSE_MS));
    }
  }

  const running = bringNearer();
  return {
    ids,
    async stop() {
      stopped = true;
      await running;
      const giveUpAt = Date.now() + PATIENCE_MS;
      while ((await countDueSoon(database)) > 0 && Date.now() < giveUpAt) await pause(100);
      await database.query(
        'update schedules set paused = true, next_due_at = null where next_due_at > now()',
      );
    },
  };
}

/** Counts due times that are past, or that were just moved and are expected to have a run. */
async function countDueSoon(database: Database): Promise<number> {
  const { rows } = await database.query<{ due: number }>(
    `select count(*) as due from schedules where next_due_at <= now() + interval '${AHEAD}'`,
  );
  return rows[0]?.due ?? 0;
}
