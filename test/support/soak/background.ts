import { setTimeout as pause } from 'node:timers/promises';
import { rotateSecret } from '../../../src/outbox/webhooks/secrets.ts';
import { createBatchAccounts, type SoakAccount } from './accounts.ts';
import { startBatches } from './batches.ts';
import type { Dice } from './dice.ts';
import type { History } from './history-file.ts';
import type { Granted } from './judge/history.ts';
import { openSoakReceiver, type SoakReceiver } from './receiver.ts';
import { startSchedules } from './schedules.ts';
import type { SoakServices } from './services.ts';

/** Batches, schedules and webhooks, which continue while processes are killed. */
export interface BackgroundLoad {
  /** Creates nothing more, and waits until all batches and runs have ended. @returns the duration. */
  stop(limitSeconds: number): Promise<number>;
  accounts: readonly SoakAccount[];
  /** The schedules of each account. */
  scheduleIds: ReadonlyMap<number, string[]>;
  receiver: SoakReceiver;
  close(): Promise<void>;
}

export async function startBackground(
  { database, gateways }: SoakServices,
  {
    dice,
    history,
    window,
    callers,
  }: {
    dice: Dice;
    history: History;
    window: Granted['window'];
    /** Accounts whose calls have webhooks. */
    callers: readonly SoakAccount[];
  },
): Promise<BackgroundLoad> {
  const accounts = await createBatchAccounts(database, history, window);
  const secrets = new Map<number, string>();
  for (const { accountId } of [...accounts, ...callers])
    secrets.set(accountId, (await rotateSecret(database, accountId, Date.now())).secret);
  const receiver = await openSoakReceiver(secrets, dice.fork(), history);
  const about = { database, gateways, accounts, receiver, history };
  const schedules = await startSchedules({ ...about, dice: dice.fork() });
  const batches = startBatches({ ...about, dice: dice.fork() });

  async function countOpen(): Promise<number> {
    const { rows } = await database.query<{ open: number }>(
      `select (select count(*) from batches where finished_at is null)
         + (select count(*) from outbox where state = 'pending') as open`,
    );
    return rows[0]?.open ?? 0;
  }

  /** Ends all pauses of minutes and hours, without an extension for anything that has waited too long. */
  async function endPauses(passedMs: number): Promise<void> {
    await database.query(`update batch_calls set not_before = now() where not_before > now()`);
    await database.query(
      `update outbox set next_attempt_at = now(), claimed_until = null
       where state = 'pending' and (next_attempt_at > now() or claimed_until is not null)`,
    );
    if (passedMs > QUOTA_PATIENCE_MS)
      await database.query(
        'update batches set deadline_at = now() where finished_at is null and waiting_until > now()',
      );
  }

  return {
    accounts,
    scheduleIds: schedules.ids,
    receiver,
    async stop(limitSeconds) {
      const startedAt = Date.now();
      await Promise.all([schedules.stop(), batches.stop()]);
      let pausesEndedAt = 0;
      for (;;) {
        const now = Date.now();
        if ((await countOpen()) === 0 || now > startedAt + limitSeconds * 1000) return now - startedAt;
        if (now > pausesEndedAt + END_PAUSES_EVERY_MS) {
          pausesEndedAt = now;
          await endPauses(now - startedAt);
        }
        await pause(200);
      }
    },
    close: () => receiver.close(),
  };
}

const END_PAUSES_EVERY_MS = 1_000;

/** The time to the deadline for batches of accounts without units. */
const QUOTA_PATIENCE_MS = 2_000;
