import { setTimeout as pause } from 'node:timers/promises';
import { rotateSecret } from '../../../src/outbox/webhooks/secrets.ts';
import { createBatchAccounts } from './accounts.ts';
import { auditBackground, auditMessages, auditTicks, auditWanted } from './background-audit.ts';
import { auditResults } from './batch-results.ts';
import { startBatches } from './batches.ts';
import type { Dice } from './dice.ts';
import type { Fault } from './ledger-audit.ts';
import { openSoakReceiver } from './receiver.ts';
import { startSchedules } from './schedules.ts';
import type { SoakServices } from './services.ts';

/** Batches, schedules and webhooks, which continue while processes are killed. */
export interface BackgroundLoad {
  /** Creates nothing more, and waits until all batches and runs have ended. @returns the duration. */
  stop(limitSeconds: number): Promise<number>;
  /** The numbers of batches, runs and messages. */
  counts(): Promise<Record<string, number>>;
  audit(): Promise<Fault[]>;
  close(): Promise<void>;
}

export async function startBackground(
  { database, gateways }: SoakServices,
  dice: Dice,
): Promise<BackgroundLoad> {
  const accounts = await createBatchAccounts(database);
  const secrets = new Map<number, string>();
  for (const { accountId } of accounts)
    secrets.set(accountId, (await rotateSecret(database, accountId, Date.now())).secret);
  const receiver = await openSoakReceiver(secrets, dice.fork());
  const about = { database, gateways, accounts, receiver };
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
    async counts() {
      const { rows } = await database.query<{ name: string; count: number }>(
        `select 'batches ' || state as name, count(*) from batches group by state
         union all select 'items ' || state, sum(item_count) from batch_calls group by state
         union all select 'runs ' || trigger || ' ' || state, count(*) from schedule_runs group by trigger, state
         union all select 'deliveries ' || state, count(*) from outbox group by state`,
      );
      return Object.fromEntries([
        ...rows.map(({ name, count }) => [name, Number(count)] as const),
        ['ticks set', schedules.ticks.length],
        ['messages arrived', receiver.messages.length],
      ]);
    },
    async audit() {
      return [
        ...(await auditBackground(database)),
        ...(await auditWanted(database, batches.wanted)),
        ...(await auditTicks(database, schedules.ticks)),
        ...(await auditMessages(database, receiver.messages)),
        ...(await auditResults(database, gateways, accounts)),
      ];
    },
    close: () => receiver.close(),
  };
}

const END_PAUSES_EVERY_MS = 1_000;

/** The time to the deadline for batches of accounts without units. */
const QUOTA_PATIENCE_MS = 2_000;
