import { claimDue } from '../../src/outbox/claims.ts';
import { queueDueNotices } from '../../src/outbox/mail/due-notices.ts';
import {
  type ClaimedMessage,
  type Outcome,
  recordOutcome,
  type Sender,
  verdictOf,
} from '../../src/outbox/queue.ts';
import { enqueueEndedJobs } from '../../src/outbox/webhooks/job-webhooks.ts';
import { startWorkLoop, type WorkLoop } from '../../src/platform/clock.ts';
import { everyWithLease } from '../../src/platform/db/lease.ts';
import { retryDuringOutage } from '../../src/platform/outage.ts';
import type { Stores } from '../../src/platform/stores.ts';

type OutboxDeps = Pick<Stores, 'database' | 'clock' | 'log'>;

const LOOK_EVERY_MS = 1_000;
const NOTICES_EVERY_MS = 300_000;
const ACCOUNTS_REMEMBERED = 1_000;

/**
 * Sends webhooks and mails until the process stops; each sender has slots of its own. Several processes can do so at the same
 * time. Closing resolves when the attempts in progress have ended and are recorded.
 */
export function startOutbox(deps: OutboxDeps, senders: readonly Sender[]): WorkLoop {
  const { database, clock, log } = deps;
  const channels = senders.map((sender) => openChannel(deps, sender));
  const loop = startWorkLoop(clock, 'outbox step', LOOK_EVERY_MS, async () => {
    try {
      await enqueueEndedJobs(database, clock.now());
      for (const channel of channels) await channel.look(loop.wake);
    } catch (error) {
      log.warn({ err: error }, 'failed to look for due messages');
    }
  });
  loop.wake();
  return {
    wake: loop.wake,
    async close() {
      await loop.close();
      await Promise.all(channels.map((channel) => channel.close()));
    },
  };
}

function openChannel({ database, clock, log }: OutboxDeps, sender: Sender) {
  const { channel } = sender;
  const underWay = new Map<ClaimedMessage, Promise<void>>();
  const closing = new AbortController();
  /** Accounts in the order of their latest claims, so that they take turns. */
  const served = new Set<number>();

  /** Claims due messages and begins to send them. @param wake is called when a slot is free again. */
  async function look(wake: () => void): Promise<void> {
    const claimed = await claimDue(database, sender, [...underWay.keys()], clock.now(), [...served]);
    if (claimed.length === 0) return;
    for (const { accountId } of claimed) {
      served.delete(accountId);
      served.add(accountId);
    }
    for (const accountId of served) if (served.size > ACCOUNTS_REMEMBERED) served.delete(accountId);
    const send = await sender.prepare(claimed);
    for (const message of claimed) {
      const attempt = deliver(message, send).finally(() => {
        underWay.delete(message);
        wake();
      });
      underWay.set(message, attempt);
    }
  }

  async function deliver(message: ClaimedMessage, send: (message: ClaimedMessage) => Promise<Outcome>) {
    const { id, accountId, kind, host, retries } = message;
    // Addresses are not logged: those of webhooks may contain secrets of the receiver, except for their host.
    const about = { messageId: id, accountId, channel, kind, host };
    try {
      const outcome = await send(message);
      const now = clock.now();
      const { state } = verdictOf(sender, outcome, retries, now);
      sender.onOutcome?.(message, state);
      const facts = 'state' in outcome ? {} : { status: outcome.status, durationMs: outcome.durationMs };
      log.debug({ ...about, ...facts, state }, 'message attempted');
      // A message that was accepted and is not recorded is sent again when the claim has expired.
      const record = () => recordOutcome(database, sender, message, outcome, now);
      const until = message.claimedUntil.getTime();
      await retryDuringOutage(clock, record, { until, signal: closing.signal });
    } catch (error) {
      // The message is sent again when the claim has expired.
      log.warn({ ...about, err: error }, 'failed to send a message or to record the attempt');
    }
  }

  return {
    look,
    /** Waits for the attempts under way. One that cannot be recorded is given up. */
    async close() {
      closing.abort();
      await Promise.all(underWay.values());
    },
  };
}

/**
 * Looks for due notices every few minutes, in one process at a time, until the returned function is called.
 * @param needsConfirmed whether only confirmed addresses get mails.
 */
export function startNotices(deps: OutboxDeps, needsConfirmed: boolean): () => Promise<void> {
  const { database, clock, log } = deps;
  return everyWithLease(deps, NOTICES_EVERY_MS, 'failed to look for due notices', {
    notices: {
      pauseMs: NOTICES_EVERY_MS - 5_000,
      async task() {
        const queued = await queueDueNotices(database, { needsConfirmed, now: clock.now() });
        if (queued > 0) log.info({ queued }, 'queued notices');
      },
    },
  });
}
