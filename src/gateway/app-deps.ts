import { createAttempts, SIGN_UPS_PER_HOUR } from '../accounts/attempts.ts';
import { createRefusalPace } from '../api/plugins/refusal-pace.ts';
import { REQUEST_LIMITS } from '../api/plugins/slow-requests.ts';
import { demoPayments, manualPayments } from '../billing/payments/payment-port.ts';
import { createStripePayments } from '../billing/payments/stripe.ts';
import { trialPolicyOf } from '../billing/payments/trials.ts';
import { mailWayOf } from '../mail/mail-settings.ts';
import { queuePaymentFailed } from '../mail/payment-failed.ts';
import { pollAnnouncements } from '../operator/announcements.ts';
import { createStatusBoard } from '../operator/status/status-board.ts';
import { createSecretBox } from '../platform/secret-box.ts';
import { type ApiParts, apiDepsOf } from './api-deps.ts';
import type { AppDeps } from './app.ts';
import type { Observers } from './observers.ts';
import type { GatewaySettings, PageSettings } from './open-gateway.ts';

type AppParts = ApiParts & Pick<Observers, 'requestMetrics'>;

const DEFAULT_PAGES: PageSettings = { payments: { way: 'manual', currency: 'usd' } };

/** Returns the dependencies of the HTTP side of a gateway. */
export function appDepsOf(settings: GatewaySettings, parts: AppParts): AppDeps {
  const { operator = {}, pages = DEFAULT_PAGES, offPeak, providers } = settings;
  const { redis, cache, keys, queues, batchQueue, events, queueGauges, clock, log } = parts;
  const { pages: database, registry, requestMetrics, tracing } = parts;
  const { publicUrl, trials = 'manual', payments, hasDemoPictures = false, mail } = pages;
  const { adminToken } = operator;
  const attempts = createAttempts(redis, keys, pages.signUpsPerHour ?? SIGN_UPS_PER_HOUR);
  const stripe =
    typeof payments.way === 'object'
      ? createStripePayments(payments.way, {
          ...{ database: parts.database, now: clock.now, log },
          notify: queuePaymentFailed,
        })
      : null;
  const api = apiDepsOf(settings, parts);
  return {
    trustProxy: settings.trustProxy,
    requestLimits: settings.requestLimits ?? REQUEST_LIMITS,
    errors: { log, events },
    requestMetrics,
    refusalPace: createRefusalPace(registry, clock, settings.limits.refusalsPerSecond),
    tracing,
    api,
    queueBoard:
      adminToken === undefined
        ? null
        : {
            ...{ queues, batchQueue, database, clock, attempts },
            publicUrl: publicUrl ?? null,
            token: adminToken,
          },
    stripe,
    site: {
      ...{ database, redis, cache, keys, attempts, clock, log, events, queueGauges },
      ...{ offPeak, providers, currency: payments.currency, publicUrl, adminToken },
      tokenPrice: pages.tokenPrice ?? null,
      limits: api.limits,
      trials: trialPolicyOf(trials, mailWayOf(mail) === 'sent'),
      testMode: settings.testMode ?? null,
      imageCdnUrl: settings.links.imageCdnUrl,
      hasDemoPictures,
      mail: mailWayOf(mail),
      secretBox: createSecretBox(settings.secretKeys),
      statusBoard: createStatusBoard({ database, clock, log }),
      announcements: pollAnnouncements({ database, clock, log }),
      payments: stripe ?? (payments.way === 'demo' ? demoPayments : manualPayments),
    },
  };
}
