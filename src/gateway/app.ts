import type { Socket } from 'node:net';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { v7 as uuid } from 'uuid';
import { registerBatches } from '../api/batches.ts';
import { sendError } from '../api/envelope.ts';
import { registerErrorReplies } from '../api/error-replies.ts';
import type { Gateway } from '../api/gateway.ts';
import { registerHealth } from '../api/health.ts';
import { finishHandlersOnClose } from '../api/in-flight.ts';
import { registerJobs } from '../api/jobs.ts';
import { registerMcp } from '../api/mcp/index.ts';
import { registerMetrics } from '../api/metrics.ts';
import { registerOpenApi } from '../api/openapi.ts';
import { registerOperations } from '../api/operations.ts';
import { refusingOtherMethods } from '../api/other-methods.ts';
import { registerQueueBoard } from '../api/queue-board.ts';
import { traceRequests } from '../api/request-spans.ts';
import { registerSchedules } from '../api/schedules.ts';
import { registerWebhooks } from '../api/webhooks.ts';
import { SoukError } from '../platform/errors.ts';
import { hasLargeInteger, parseJson } from '../platform/json.ts';
import { errorBody } from '../results/envelope.ts';
import { registerWeb } from '../site/web.ts';

/** No body is larger, and none that is larger is ever parsed here. */
const BODY_LIMIT_BYTES = 65_536;

/** Room for a thousand image names in the address. */
const HEADER_LIMIT_BYTES = 65_536;

/** The gateway's HTTP side. */
export function buildApp(gateway: Gateway): FastifyInstance {
  const { log, clock, wrongKeys, authentication, requestMetrics, events, tracing, operator } = gateway;
  const app = fastify({
    logger: false,
    genReqId: () => uuid(),
    trustProxy: gateway.trustProxy ?? false,
    bodyLimit: BODY_LIMIT_BYTES,
    // Of two Authorization headers Node would drop the second, and with it a key that disagrees.
    http: { maxHeaderSize: HEADER_LIMIT_BYTES, joinDuplicateHeaders: true },
    // How long a client may take to send its request. Answers may take as long as their pool allows.
    requestTimeout: 30_000,
    keepAliveTimeout: 72_000,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: true },
    exposeHeadRoutes: false,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      // An address that cannot be decoded reaches no route.
      log.debug({ code: error.code, requestId: request.id }, 'bad address');
      request.startedAt = performance.now();
      const refusal = new SoukError('VALIDATION_FAILED', { message: 'The address is not well formed.' });
      events.emit({ type: 'request.refused', error: refusal.kind });
      void sendError(reply as FastifyReply, refusal, clock.now());
    },
    clientErrorHandler: (error, socket) => {
      const refusal = refuseMalformedRequest(error, socket);
      if (refusal) events.emit({ type: 'request.refused', error: refusal.kind });
    },
  });
  app.removeContentTypeParser('text/plain');
  const parseBody = app.getDefaultJsonParser('error', 'error');
  // What a worker is to read is passed on as it came.
  app.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (request, text: string, done) => {
    if (request.routeOptions.config.unparsedBody) done(null, text);
    else done(new SoukError('UNSUPPORTED_MEDIA_TYPE'));
  });
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text: string, done) => {
    if (request.routeOptions.config.unparsedBody) {
      done(null, text);
      return;
    }
    // Some clients give every request a type, those without a body too.
    if (text === '' && request.method === 'DELETE') {
      done(null, undefined);
      return;
    }
    void parseBody(request, text, (error, value: unknown) => {
      // Ids beyond 2^53 survive; what the framework's own parser refuses stays refused.
      if (error) done(error);
      else done(null, hasLargeInteger(text) ? parseJson(text) : value);
    });
  });
  app.decorateRequest('startedAt', 0);
  app.decorateRequest('keyHash', null);
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now();
    done();
  });
  finishHandlersOnClose(app);
  requestMetrics.observe(app);
  if (tracing) traceRequests(app, tracing);
  registerErrorReplies(app, { now: clock.now, log, wrongKeys, authentication, events });
  refusingOtherMethods(app, () => {
    registerOperations(app, gateway);
    registerJobs(app, gateway);
    registerBatches(app, gateway);
    registerSchedules(app, gateway);
    registerWebhooks(app, gateway);
    registerHealth(app, gateway);
    registerMetrics(app, gateway);
    registerOpenApi(app);
    registerMcp(app, gateway);
  });
  if (operator.adminToken) registerQueueBoard(app, gateway, operator.adminToken);
  registerWeb(app, gateway);
  // Every charged call is a row in PostgreSQL, so the request log is for debugging only and costs nothing otherwise.
  if (log.isLevelEnabled('debug')) {
    app.addHook('onResponse', async (request, reply) => {
      const { method, url, id: requestId } = request;
      // As it was sent, the query could hold the key in an encoding that no mask knows; the address of a webhook is a
      // secret of its receiver's, often enough.
      const { key: _, webhook: __, token: ___, ...query } = request.query as Record<string, unknown>;
      const [path] = url.split('?', 1);
      const { statusCode: status, elapsedTime } = reply;
      log.debug({ requestId, method, path, query, status, ms: Math.round(elapsedTime) }, 'request');
    });
  }
  return app;
}

/** What is not HTTP, or has headers beyond the limit, never becomes a request. @returns what it was told, if anything. */
function refuseMalformedRequest(error: NodeJS.ErrnoException, socket: Socket): SoukError | null {
  if (error.code === 'ECONNRESET' || !socket.writable) return null;
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const refusal = tooLarge
    ? new SoukError('PAYLOAD_TOO_LARGE', {
        message: `The address and headers are larger than ${HEADER_LIMIT_BYTES} bytes.`,
      })
    : new SoukError('VALIDATION_FAILED', { message: 'This is not a well-formed HTTP request.' });
  const body = errorBody(refusal);
  const status = tooLarge ? '413 Payload Too Large' : '400 Bad Request';
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  return refusal;
}
