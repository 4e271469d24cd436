import type { Registry } from 'prom-client';
import { claimMails } from '../../src/mail/claims.ts';
import { queueDueNotices } from '../../src/mail/due/due-notices.ts';
import { type MailSettings, mailWayOf } from '../../src/mail/mail-settings.ts';
import { sendClaimed } from '../../src/mail/send.ts';
import { createSmtpTransport } from '../../src/mail/transport.ts';
import { type Clock, every } from '../../src/platform/clock.ts';
import { withLease } from '../../src/platform/db/lease.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import type { Logger } from '../../src/platform/log.ts';
import type { SecretBox } from '../../src/platform/secret-box.ts';
import { createTally } from '../../src/platform/telemetry/tally.ts';
import { startWorkLoop, type WorkLoop } from '../../src/platform/work-loop.ts';

export interface MailDeps {
  database: Database;
  clock: Clock;
  log: Logger;
  secretBox: SecretBox;
  registry: Registry;
  /** null: mails are not configured, and queued ones end as not sent. */
  settings: MailSettings | null;
}

const LOOK_EVERY_MS = 1_000;
const AT_ONCE = 4;
const NOTICES_EVERY_MS = 300_000;

/**
 * Sends queued mails until the process stops. Several processes can do so at the same time. A mail is sent once, unless the
 * process or PostgreSQL dies between the acceptance by the mail server and its record.
 */
export function startMails(deps: MailDeps): WorkLoop {
  const { database, clock, log, registry, settings } = deps;
  const transport = settings?.transport;
  const send =
    settings && transport && transport !== 'console'
      ? createSmtpTransport(transport.smtpUrl, settings.from, clock)
      : null;
  const outcomes = createTally(registry, {
    name: 'souk_mails_total',
    help: 'Attempts to send mails, by kind and outcome.',
    labels: ['kind', 'outcome'],
  });

  async function look(): Promise<void> {
    const claimed = await claimMails(database, AT_ONCE, clock.now());
    await Promise.all(
      claimed.map(async (mail) => {
        const { id, accountId, kind } = mail;
        try {
          const verdict = await sendClaimed({ ...deps, send }, mail);
          outcomes(kind, verdict.state).value += 1;
          log.debug({ mailId: id, accountId, kind, state: verdict.state }, 'mail attempted');
        } catch (error) {
          // It is sent again when the claim has expired.
          log.warn({ err: error, mailId: id, accountId, kind }, 'failed to send a mail');
        }
      }),
    );
    if (claimed.length > 0) loop.wake();
  }

  const loop = startWorkLoop(clock, 'mail step', LOOK_EVERY_MS, () =>
    look().catch((error: unknown) => log.warn({ err: error }, 'failed to look for due mails')),
  );
  loop.wake();
  const stopNotices = settings ? startNotices(deps, mailWayOf(settings) === 'sent') : async () => {};
  return {
    ...loop,
    async close() {
      await stopNotices();
      await loop.close();
    },
  };
}

/** Looks for due notices every few minutes; one process at a time. */
function startNotices({ database, clock, log }: MailDeps, needsConfirmed: boolean): () => Promise<void> {
  // The pause is shorter than the interval, so that no turn is left out when two timers differ.
  const lease = { name: 'notices', pauseMs: NOTICES_EVERY_MS - 5_000 };
  return every(clock, NOTICES_EVERY_MS, () =>
    withLease(database, clock, lease, async () => {
      const queued = await queueDueNotices(database, { needsConfirmed, now: clock.now() });
      if (queued > 0) log.info({ queued }, 'queued notices');
    }).then(
      () => {},
      (error: unknown) => log.warn({ err: error }, 'failed to look for due notices'),
    ),
  );
}
