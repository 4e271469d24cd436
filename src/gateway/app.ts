import { parse } from 'node:querystring';
import { type FastifyInstance, fastify } from 'fastify';
import { v7 as uuid } from 'uuid';
import { type ApiDeps, registerApi } from '../api/api.ts';
import { registerStripeWebhook } from '../api/endpoints/payments/stripe-webhook.ts';
import { setAnswerHeaders } from '../api/plugins/answer-headers.ts';
import { BODY_LIMIT_BYTES, parseJsonBodies } from '../api/plugins/body-parsing.ts';
import {
  type ErrorReplyDeps,
  HEADER_LIMIT_BYTES,
  malformedRequests,
  registerErrorReplies,
} from '../api/plugins/errors.ts';
import { finishRequestsOnClose } from '../api/plugins/in-flight.ts';
import type { RefusalPace } from '../api/plugins/refusal-pace.ts';
import { registerRequestContext } from '../api/plugins/request-context.ts';
import { registerRequestEnd } from '../api/plugins/request-end.ts';
import type { RequestMetrics } from '../api/plugins/request-metrics.ts';
import { traceRequests } from '../api/plugins/request-spans.ts';
import { type RequestLimits, refuseSlowBodies, requestTimeouts } from '../api/plugins/slow-requests.ts';
import { leaveBodiesUnread } from '../api/plugins/unread-bodies.ts';
import { type QueueBoardDeps, registerQueueBoard } from '../api/queue-board.ts';
import type { StripePayments } from '../billing/payments/stripe.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import { sendNotFoundPage } from '../site/kit/error-page.tsx';
import type { SiteDeps } from '../site/pages.ts';
import { registerWeb } from '../site/web.ts';

export interface AppDeps {
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
