import { sealOperatorTwoFactor } from '../../src/accounts/operator-two-factor.ts';
import { sealTwoFactor } from '../../src/accounts/two-factor.ts';
import { type Clock, every } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/db/pool.ts';
import type { Logger } from '../../src/platform/log.ts';
import { retryDuringOutage } from '../../src/platform/retry-during-outage.ts';
import { createSecretBox, type SecretBox } from '../../src/platform/secret-box.ts';
import { startWorkLoop } from '../../src/platform/work-loop.ts';
import { createAddressGuard, type Resolve } from '../../src/webhooks/address-guard.ts';
import { type ClaimedDelivery, claimDue, type SendingLimits } from '../../src/webhooks/claims.ts';
import { recordAttempt } from '../../src/webhooks/deliveries.ts';
import { purgeDeliveries } from '../../src/webhooks/delivery-log.ts';
import { enqueueEndedJobs, purgeWatchCounts } from '../../src/webhooks/job-webhooks.ts';
import { verdictOf } from '../../src/webhooks/retry-schedule.ts';
import { purgeSecrets, sealSecrets, signingSecrets } from '../../src/webhooks/secrets.ts';
import { createSend, type Outcome } from '../../src/webhooks/send.ts';
import { signedHeaders } from '../../src/webhooks/signing.ts';
import { WEBHOOK_LIMITS } from '../../src/webhooks/webhook-limits.ts';

export interface DeliveryDeps {
  database: Database;
  clock: Clock;
  log: Logger;
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
  secretBox?: SecretBox;
  limits?: SendingLimits;
  /** The setting PENDING_WEBHOOK_HOSTS_PER_ACCOUNT. */
  hostsPerAccount?: number;
  /** How host names are resolved. Default: by the system. */
  resolve?: Resolve;
}

/** Sends webhooks until the process stops. Several processes can do so at the same time. */
export interface Deliveries {
  /** Looks for due deliveries now, instead of at the next second. */
  wake(): void;
  /** Stops sending. Resolves when the attempts in progress have ended and are recorded. */
  close(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const PURGE_EVERY_MS = 3_600_000;

/**
 * A receiver that always takes the full time limit occupies at most a quarter of a process, an account at most half
 * of it.
 */
const LIMITS: SendingLimits = { atOnce: 16, perHost: 4, perAccount: 8 };

const ACCOUNTS_REMEMBERED = 1_000;

const NO_SECRET: Outcome = {
  status: null,
  error: 'The account has no signing secret.',
  durationMs: 0,
  response: null,
};

export function startDeliveries(deps: DeliveryDeps): Deliveries {
  const { database, clock, log, secretBox = createSecretBox() } = deps;
  const { hostsPerAccount = WEBHOOK_LIMITS.hostsPerAccount } = deps;
  // Requests at the same time can exceed the limit on hosts, and so can batches that end.
  const { limits = { ...LIMITS, hostsPerAccount: 2 * hostsPerAccount } } = deps;
  const send = createSend({ guard: createAddressGuard(deps.allowPrivate, deps.resolve), clock });
  const underWay = new Map<ClaimedDelivery, Promise<void>>();
  /** Accounts in the order of their latest claims, so that they take turns. */
  const served = new Set<number>();

  async function look(): Promise<void> {
    await enqueueEndedJobs(database, clock.now());
    if (underWay.size >= limits.atOnce) return;
    const claimed = await claimDue(database, [...underWay.keys()], limits, clock.now(), [...served]);
    if (claimed.length === 0) return;
    const accountIds = claimed.map(({ accountId }) => accountId);
    for (const accountId of accountIds) {
      served.delete(accountId);
      served.add(accountId);
    }
    for (const accountId of served) if (served.size > ACCOUNTS_REMEMBERED) served.delete(accountId);
    const secrets = await signingSecrets(database, accountIds, clock.now(), {
      box: secretBox,
      onUnreadable: (accountId) => log.error({ accountId }, 'failed to decrypt a webhook secret'),
    });
    for (const delivery of claimed) {
      const attempt = deliver(delivery, secrets.get(delivery.accountId) ?? []).finally(() => {
        underWay.delete(delivery);
        // Another delivery may already be due for the free slot.
        loop.wake();
      });
      underWay.set(delivery, attempt);
    }
  }

  async function deliver(delivery: ClaimedDelivery, secrets: readonly string[]): Promise<void> {
    const { id, accountId, url, host, payload, retries } = delivery;
    try {
      const outcome =
        secrets.length === 0
          ? NO_SECRET
          : await send({ url, payload, headers: signedHeaders({ id, payload }, secrets, clock.now()) });
      const now = clock.now();
      const verdict = verdictOf(outcome.status, retries, now);
      const { status, durationMs } = outcome;
      // Only the origin is logged, because path and query may contain secrets of the receiver.
      log.debug(
        { deliveryId: id, accountId, host, status, durationMs, state: verdict.state },
        'webhook sent',
      );
      await retryDuringOutage(clock, () => recordAttempt(database, delivery, outcome, verdict, now));
    } catch (error) {
      // The webhook is sent again when the claim has expired.
      log.warn({ err: error, deliveryId: id, accountId }, 'failed to record a webhook attempt');
    }
  }

  /** Encrypts stored secrets with the present key. */
  async function seal(): Promise<void> {
    await sealSecrets(database, secretBox);
    await sealTwoFactor(database, secretBox);
    await sealOperatorTwoFactor(database, secretBox);
  }

  async function purge(): Promise<void> {
    await purgeDeliveries(database, clock.now());
    await purgeSecrets(database, clock.now());
    await seal();
    await purgeWatchCounts(database, clock.now());
  }

  const loop = startWorkLoop(clock, 'delivery step', LOOK_EVERY_MS, () =>
    look().catch((error: unknown) => log.warn({ err: error }, 'failed to look for due webhooks')),
  );
  const stopPurging = every(clock, PURGE_EVERY_MS, () =>
    purge().catch((error: unknown) => log.warn({ err: error }, 'failed to delete old webhooks')),
  );
  loop.wake();
  const sealing = seal().catch((error: unknown) =>
    log.warn({ err: error }, 'failed to encrypt stored secrets'),
  );

  return {
    wake: loop.wake,
    async close() {
      await loop.close();
      await stopPurging();
      await sealing;
      await Promise.all(underWay.values());
    },
  };
}
