import { type FastifyInstance, fastify } from 'fastify';
import { v7 as uuid } from 'uuid';
import { type ApiDeps, registerApi } from '../api/api.ts';
import { registerStripeWebhook } from '../api/endpoints/payments/stripe-webhook.ts';
import { BODY_LIMIT_BYTES, parseJsonBodies } from '../api/plugins/body-parsing.ts';
import {
  type ErrorReplyDeps,
  HEADER_LIMIT_BYTES,
  malformedRequests,
  registerErrorReplies,
} from '../api/plugins/errors.ts';
import { finishHandlersOnClose } from '../api/plugins/in-flight.ts';
import { registerRequestContext } from '../api/plugins/request-context.ts';
import type { RequestMetrics } from '../api/plugins/request-metrics.ts';
import { traceRequests } from '../api/plugins/request-spans.ts';
import { type QueueBoardDeps, registerQueueBoard } from '../api/queue-board.ts';
import type { StripePayments } from '../billing/payments/stripe.ts';
import type { Tracing } from '../platform/telemetry/tracing.ts';
import type { SiteDeps } from '../site/pages.ts';
import { registerWeb } from '../site/web.ts';

export interface AppDeps {
  /** The setting TRUST_PROXY: proxies that are believed when they tell who calls. */
  trustProxy: string | undefined;
  errors: ErrorReplyDeps;
  requestMetrics: RequestMetrics;
  tracing: Tracing | null;
  api: ApiDeps;
  /** null: without a token for operators. */
  queueBoard: (QueueBoardDeps & { token: string }) | null;
  stripe: StripePayments | null;
  site: SiteDeps;
}

/** The gateway's HTTP side: plugins for every request, the API, and the pages. */
export function buildApp(deps: AppDeps): FastifyInstance {
  const { errors, requestMetrics, tracing, queueBoard, stripe } = deps;
  const app = fastify({
    logger: false,
    genReqId: () => uuid(),
    trustProxy: deps.trustProxy ?? false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Of two Authorization headers Node would drop the second, and with it a key that disagrees.
    http: { maxHeaderSize: HEADER_LIMIT_BYTES, joinDuplicateHeaders: true },
    // How long a client may take to send its request. Answers may take as long as their pool allows.
    requestTimeout: 30_000,
    keepAliveTimeout: 72_000,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: true },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    ...malformedRequests(errors),
  });
  parseJsonBodies(app);
  registerRequestContext(app, errors.log);
  finishHandlersOnClose(app);
  requestMetrics.observe(app);
  if (tracing) traceRequests(app, tracing);
  registerErrorReplies(app, errors);
  registerApi(app, deps.api);
  if (queueBoard) registerQueueBoard(app, queueBoard, queueBoard.token);
  if (stripe) registerStripeWebhook(app, stripe);
  registerWeb(app, deps.site);
  return app;
}
