import type { Registry } from 'prom-client';
import type { QueueGauges } from '../../jobs/queue-gauges.ts';
import { createAuthentication } from '../accounts/authentication.ts';
import { createWrongKeys } from '../accounts/wrong-keys.ts';
import type { ApiDeps } from '../api/api.ts';
import { createReadiness } from '../api/endpoints/service/get-readiness.ts';
import { createRequestLimits } from '../api/limits/limits.ts';
import { createUploadPace } from '../api/limits/upload-pace.ts';
import { createUploadTurns } from '../api/limits/upload-turns.ts';
import { createQuotaSnapshots } from '../api/operations/local/quota-snapshots.ts';
import { createParsedRequests } from '../api/operations/parsed-requests.ts';
import { ACCOUNT_LIMITS, directBytes } from '../batches/account-limits.ts';
import { createBatchNotifier } from '../batches/notify-webhook.ts';
import { createStorageCheck } from '../batches/storage-limit.ts';
import { createAdmissions } from '../billing/admission.ts';
import { createSettlements } from '../billing/settlement.ts';
import type { ServiceClock } from '../platform/clock.ts';
import type { Logger } from '../platform/log.ts';
import { createSecretBox } from '../platform/secret-box.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { createAnswerStore } from '../results/answer-store.ts';
import type { JobEngine } from './job-engine.ts';
import type { GatewaySettings } from './open-gateway.ts';
import type { Stores } from './stores.ts';

export interface ApiParts extends Omit<Stores, 'close'>, Omit<JobEngine, 'close'> {
  registry: Registry;
  queueGauges: QueueGauges;
  events: CallEvents;
  tracing: Tracing | null;
  clock: ServiceClock;
  log: Logger;
}

/** Returns the dependencies of each group of endpoints. */
export function apiDepsOf(settings: GatewaySettings, parts: ApiParts): ApiDeps {
  const { offPeak, providers, links, webhooks, mcp, operator } = settings;
  const { database, reports, money: moneyDatabase, redis, cache, keys } = parts;
  const { clock, log, events, tracing } = parts;
  const { queues, batchQueue, replies, completions, fairness, backlog, registry, queueGauges } = parts;
  const authentication = createAuthentication(moneyDatabase, clock.now, events);
  const wrongKeys = createWrongKeys(clock, settings.limits.unknownKeysPerMinute);
  const hasTestMode = Boolean(settings.testMode);
  const admissions = createAdmissions(moneyDatabase, clock.now, offPeak, settings.answerLimitMs);
  const settlements = createSettlements(moneyDatabase, clock.now);
  const accountLimits = settings.accountLimits ?? ACCOUNT_LIMITS;
  const answers = createAnswerStore(redis, keys, cache, (accountId) => directBytes(accountId, accountLimits));
  const limits = createRequestLimits(redis, keys, settings.limits);
  const money = { database, clock, events, admissions, settlements };
  const { channel: completionChannel } = completions;
  const jobs = { redis, keys, queues, backlog, completions, answers, providers, reports, completionChannel };
  const uploadPace = createUploadPace(clock, settings.limits.uploadBytesPerSecond);
  const uploadTurns = createUploadTurns(redis, keys, settings.limits.uploadBytesPerMinute);
  const uploads = { redis: parts.uploading, keys, batchQueue, replies, uploadPace, uploadTurns };
  return {
    authentication: { authentication, wrongKeys, hasTestMode },
    limits,
    queued: {
      ...money,
      ...jobs,
      fairness,
      tracing,
      authentication,
      webhooks,
      freeRequests: limits.free,
      requireStorage: createStorageCheck({ database, redis, keys }, accountLimits, clock),
      parsed: createParsedRequests(),
      log,
    },
    local: {
      ...{ database, reports, admissions, clock, offPeak, providers, links },
      quotaSnapshots: createQuotaSnapshots(clock, settings.limits.freePerSecond),
    },
    jobs: { ...money, ...jobs },
    batches: {
      accountLimits,
      ...{ database, clock, log, ...uploads },
      onBatchFinished: createBatchNotifier(clock),
    },
    schedules: { database, clock, ...uploads },
    trackers: { database, clock, ...uploads },
    billing: { database, clock },
    keys: { database, clock },
    webhooks: {
      ...{ database, clock, allowPrivate: webhooks.allowPrivate, limits: webhooks.limits },
      secretBox: createSecretBox(settings.secretKeys),
    },
    service: { readiness: createReadiness({ database: parts.readiness, redis, cache, clock }), clock },
    metrics: { registry, queueGauges },
    metricsToken: operator?.metricsToken,
    hasProxy: settings.trustProxy !== undefined || settings.pages?.publicUrl !== undefined,
    mcp: {
      ...{ authentication, wrongKeys, hasTestMode, limits, settings: mcp },
      ...{ database, redis, keys, clock, log, completions, answers },
    },
  };
}
