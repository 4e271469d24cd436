import { parse } from 'node:querystring';
import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { v7 as uuid } from 'uuid';
import type { QueueGauges } from '../../jobs/queue-gauges.ts';
import { routeOf } from '../accounts/account-address.ts';
import {
  type Attempts,
  CLIENT_REGISTRATIONS_PER_HOUR,
  createAttempts,
  createWrongKeys,
  SIGN_UPS_PER_HOUR,
} from '../accounts/attempts.ts';
import { createAuthentication } from '../accounts/authentication.ts';
import { createOpenId } from '../accounts/openid.ts';
import { type ApiDeps, registerApi } from '../api/api.ts';
import { createConnect } from '../api/connect/register.ts';
import { createReadiness } from '../api/endpoints/service.ts';
import { registerStripeWebhook } from '../api/endpoints/stripe-webhook.ts';
import { createRequestLimits } from '../api/limits/limits.ts';
import { createUploadPace, createUploadTurns } from '../api/limits/upload-limits.ts';
import { createParsedRequests } from '../api/operations/call-options.ts';
import { createQuotaSnapshots } from '../api/operations/quota-snapshots.ts';
import { type OperatorApiDeps, registerOperatorApi } from '../api/operator-api.ts';
import { BODY_LIMIT_BYTES, parseJsonBodies } from '../api/plugins/body-parsing.ts';
import {
  type ErrorReplyDeps,
  HEADER_LIMIT_BYTES,
  malformedRequests,
  registerErrorReplies,
} from '../api/plugins/errors.ts';
import { createRefusalPace, type RefusalPace } from '../api/plugins/refusal-pace.ts';
import {
  finishRequestsOnClose,
  leaveBodiesUnread,
  REQUEST_LIMITS,
  type RequestLimits,
  type RequestMetrics,
  refuseSlowBodies,
  registerRequestContext,
  registerRequestEnd,
  requestTimeouts,
  setAnswerHeaders,
  traceRequests,
} from '../api/plugins/requests.ts';
import { type QueueBoardDeps, registerQueueBoard } from '../api/queue-board.ts';
import { createBatchNotifier } from '../batches/ending.ts';
import { ACCOUNT_LIMITS, createStorageCheck, directBytes } from '../batches/limits.ts';
import type { TableWriters } from '../batches/tables/table-writers.ts';
import { createAdmissions } from '../billing/admission.ts';
import {
  createStripePayments,
  demoPayments,
  manualPayments,
  type StripePayments,
} from '../billing/payments/payment-port.ts';
import { trialPolicyOf } from '../billing/payments/purchase-rules.ts';
import { createSettlements } from '../billing/settlement.ts';
import { SUPPORT_GRANT_UNITS } from '../operator/acts/sale-acts.ts';
import { pollAnnouncements } from '../operator/announcements.ts';
import { createStatusBoard } from '../operator/status/read-status.ts';
import { mailWayOf, queuePaymentFailed } from '../outbox/mail/mails.ts';
import type { ServiceClock } from '../platform/clock.ts';
import type { Logger } from '../platform/log.ts';
import { createSecretBox } from '../platform/secret-box.ts';
import type { CallEvents } from '../platform/telemetry/call-events.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { createAnswerStore } from '../results/answer-store.ts';
import { sendNotFoundPage } from '../site/kit/error-page.tsx';
import type { SiteDeps } from '../site/pages.ts';
import { CONNECT_PAGES } from '../site/visitor/connect-pages.tsx';
import { registerWeb } from '../site/web.ts';
import type { GatewaySettings, JobEngine, Observers, PageSettings, Stores } from './open-gateway.ts';

interface ApiParts extends Omit<Stores, 'close'>, Omit<JobEngine, 'close'> {
  registry: Registry;
  queueGauges: QueueGauges;
  tables: TableWriters;
  events: CallEvents;
  tracing: Tracing | null;
  clock: ServiceClock;
  log: Logger;
}

/** Returns the dependencies of the API. */
function apiDepsOf(settings: GatewaySettings, parts: ApiParts, attempts: Attempts): ApiDeps {
  const { offPeak, providers, links, webhooks, mcp, operator } = settings;
  const { database, reports, money: moneyDatabase, redis, cache, keys } = parts;
  const { clock, log, events, tracing, registry, queueGauges } = parts;
  const secretBox = createSecretBox(settings.secretKeys);
  const { queues, completions, fairness, backlog } = parts;
  const limits = createRequestLimits(redis, keys, settings.limits);
  const connect = createConnect({
    database,
    clock,
    log,
    limits,
    secretBox,
    pages: CONNECT_PAGES,
    attempts,
    publicUrl: settings.pages?.publicUrl,
    settings: { allowPrivate: webhooks.allowPrivate, ...settings.connect },
  });
  const authentication = {
    authentication: createAuthentication(moneyDatabase, clock.now, events, {
      audience: connect.issuer,
      hasTestMode: Boolean(settings.testMode),
    }),
    wrongKeys: createWrongKeys(clock.now, settings.limits.unknownKeysPerMinute),
    hasTestMode: Boolean(settings.testMode),
    challengeOf: connect.challengeOf,
  };
  const admissions = createAdmissions(moneyDatabase, clock.now, offPeak, settings.answerLimitMs);
  const accountLimits = settings.accountLimits ?? ACCOUNT_LIMITS;
  const answers = createAnswerStore(redis, keys, cache, (accountId) => directBytes(accountId, accountLimits));
  const requireStorage = createStorageCheck({ database, redis, keys }, accountLimits, clock);
  const { channel: completionChannel } = completions;
  const shared = { database, redis, keys, clock, log, completions, answers };
  return {
    authentication,
    connect,
    limits,
    endpoints: {
      ...shared,
      ...uploadDepsOf(settings, parts),
      accountLimits,
      admissions,
      authentication: authentication.authentication,
      backlog,
      completionChannel,
      events,
      fairness,
      freeRequests: limits.free,
      links,
      offPeak,
      onBatchFinished: createBatchNotifier(clock, webhooks),
      parsed: createParsedRequests(),
      providers,
      publicUrl: settings.pages?.publicUrl ?? null,
      queues,
      quotaSnapshots: createQuotaSnapshots(clock, settings.limits.freePerSecond),
      reports,
      requireStorage,
      secretBox,
      settlements: createSettlements(moneyDatabase, clock.now),
      tables: parts.tables,
      tracing,
      webhooks,
    },
    service: { readiness: createReadiness({ database: parts.readiness, redis, cache, clock }), clock },
    metrics: { registry, queueGauges },
    metricsToken: operator?.metricsToken,
    hasProxy: settings.trustProxy !== undefined || settings.pages?.publicUrl !== undefined,
    mcp: { ...authentication, ...shared, limits, settings: mcp },
  };
}

/** Returns what receives the bodies of batches. */
function uploadDepsOf(
  { limits }: GatewaySettings,
  { uploading, keys, batchQueue, replies, clock, redis }: ApiParts,
) {
  return {
    uploading,
    batchQueue,
    replies,
    uploadPace: createUploadPace(clock, limits.uploadBytesPerSecond),
    uploadTurns: createUploadTurns(redis, keys, limits.uploadBytesPerMinute),
  };
}

type AppParts = ApiParts & Pick<Observers, 'requestMetrics'>;

const DEFAULT_PAGES: PageSettings = { payments: { way: 'manual', currency: 'usd' } };

/** Returns the dependencies of the HTTP side of a gateway. */
export function appDepsOf(settings: GatewaySettings, parts: AppParts): AppDeps {
  const { operator = {}, pages = DEFAULT_PAGES } = settings;
  const { redis, keys, queues, batchQueue, events, clock, log } = parts;
  const { pages: database, registry, requestMetrics, tracing } = parts;
  const { publicUrl = null, payments } = pages;
  const { adminToken: token } = operator;
  const attempts = createAttempts(redis, keys, {
    signUps: pages.signUpsPerHour ?? SIGN_UPS_PER_HOUR,
    clients: settings.connect?.registrationsPerHour ?? CLIENT_REGISTRATIONS_PER_HOUR,
  });
  const stripe =
    typeof payments.way === 'object'
      ? createStripePayments(payments.way, {
          database: parts.database,
          now: clock.now,
          log,
          notify: queuePaymentFailed,
        })
      : null;
  const api = apiDepsOf(settings, parts, attempts);
  return {
    trustProxy: settings.trustProxy,
    requestLimits: settings.requestLimits ?? REQUEST_LIMITS,
    errors: { log, events },
    requestMetrics,
    refusalPace: createRefusalPace(registry, clock, settings.limits.refusalsPerSecond),
    tracing,
    api,
    queueBoard:
      token === undefined ? null : { queues, batchQueue, database, clock, attempts, publicUrl, token },
    operatorApi: {
      database,
      clock,
      attempts,
      currency: pages.payments.currency,
      tokenPrice: pages.tokenPrice ?? null,
    },
    stripe,
    site: siteDepsOf(settings, parts, { attempts, stripe, limits: api.limits, consent: api.connect.consent }),
  };
}

/** Returns the dependencies of the pages. */
function siteDepsOf(
  settings: GatewaySettings,
  parts: AppParts,
  shared: Pick<SiteDeps, 'attempts' | 'limits' | 'consent'> & Pick<AppDeps, 'stripe'>,
): SiteDeps {
  const { operator = {}, pages = DEFAULT_PAGES, offPeak, providers } = settings;
  const { pages: database, redis, cache, keys, events, queueGauges, clock, log } = parts;
  const { publicUrl, trials = 'manual', payments, hasDemoPictures = false, pictureRoutes = null } = pages;
  const mail = mailWayOf(pages.mail);
  const { attempts, limits, consent, stripe } = shared;
  return {
    database,
    redis,
    cache,
    keys,
    attempts,
    consent,
    clock,
    log,
    events,
    queueGauges,
    offPeak,
    providers,
    currency: payments.currency,
    publicUrl,
    offeredBy: pages.offeredBy ?? { name: null, links: [] },
    adminToken: operator.adminToken,
    tokenPrice: pages.tokenPrice ?? null,
    supportGrantUnits: pages.supportGrantUnits ?? SUPPORT_GRANT_UNITS,
    limits,
    trials: trialPolicyOf(trials, mail === 'sent'),
    testMode: settings.testMode ?? null,
    imageCdnUrl: settings.links.imageCdnUrl,
    hasDemoPictures,
    pictureRoutes,
    mail,
    openId: pages.openId ? createOpenId(pages.openId, clock) : null,
    secretBox: createSecretBox(settings.secretKeys),
    statusBoard: createStatusBoard({ database, clock, log }),
    announcements: pollAnnouncements({ database, clock, log }),
    payments: stripe ?? (payments.way === 'demo' ? demoPayments : manualPayments),
  };
}

interface AppDeps {
  /** The setting TRUST_PROXY: proxies whose forwarded client addresses are trusted. */
  trustProxy: string | undefined;
  requestLimits: RequestLimits;
  errors: ErrorReplyDeps;
  requestMetrics: RequestMetrics;
  refusalPace: RefusalPace;
  tracing: Tracing | null;
  api: ApiDeps;
  /** null if ADMIN_TOKEN is not set. */
  queueBoard: (QueueBoardDeps & { token: string }) | null;
  operatorApi: OperatorApiDeps;
  stripe: StripePayments | null;
  site: SiteDeps;
}

/**
 * Escapes that are not UTF-8 become U+FFFD, which texts refuse. Fastify's own parser leaves them as they are, so a keyword in
 * Latin-1 would be looked up with its escapes.
 */
const parseQuery = (query: string) => parse(query, '&', '=', { maxKeys: 0 });

/** Builds the HTTP side of the gateway: plugins for every request, the API, and the pages. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { errors, requestMetrics, refusalPace, tracing, queueBoard, stripe, requestLimits, site } = deps;
  const timeouts = requestTimeouts(requestLimits);
  const app = fastify({
    logger: false,
    genReqId: () => uuid(),
    trustProxy: deps.trustProxy ?? false,
    // Pages of an account have its number in their address.
    rewriteUrl: ({ url = '/' }) => (url.startsWith('/account/') ? routeOf(url) : url),
    bodyLimit: BODY_LIMIT_BYTES,
    // Node would drop the second of two Authorization headers, and with it a conflicting key.
    http: { ...timeouts.http, maxHeaderSize: HEADER_LIMIT_BYTES, joinDuplicateHeaders: true },
    requestTimeout: timeouts.requestTimeout,
    keepAliveTimeout: 72_000,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: true, querystringParser: parseQuery },
    return503OnClosing: false,
    ...malformedRequests(errors),
  });
  namePlugins(app);
  parseJsonBodies(app);
  registerRequestContext(app, errors.log);
  registerRequestEnd(app);
  setAnswerHeaders(app, site.publicUrl);
  refuseSlowBodies(app, site.clock, requestLimits);
  leaveBodiesUnread(app, site.clock);
  finishRequestsOnClose(app);
  requestMetrics.observe(app);
  refusalPace.apply(app);
  if (tracing) traceRequests(app, tracing);
  registerErrorReplies(app, errors, sendNotFoundPage);
  registerApi(app, deps.api);
  if (queueBoard) registerQueueBoard(app, queueBoard, queueBoard.token);
  if (queueBoard) registerOperatorApi(app, deps.operatorApi, queueBoard.token);
  if (stripe) registerStripeWebhook(app, stripe);
  registerWeb(app, site);
  return app;
}

const DISPLAY_NAME = Symbol.for('fastify.display-name');

/** Fastify searches all modules of the process for the file of each plugin without a name, which takes long. */
function namePlugins(app: FastifyInstance): void {
  const { register } = app;
  function registerNamed(this: FastifyInstance, ...parameters: Parameters<typeof register>): unknown {
    const plugin = parameters[0] as { name?: string; [DISPLAY_NAME]?: string };
    plugin[DISPLAY_NAME] ??= plugin.name || 'plugin';
    return register.apply(this, parameters);
  }
  app.register = registerNamed as FastifyInstance['register'];
}
