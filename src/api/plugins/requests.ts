import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../../platform/clock.ts';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import type { CallEventSink } from '../../platform/telemetry/call-events.ts';
import type { Span, Tracing } from '../../platform/telemetry/tracing.ts';
import { BODY_LIMIT_BYTES } from './body-parsing.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When the request arrived, by performance.now(). */
    startedAt: number;
  }
}

/** Parameters that are not logged: keys, tokens, codes of devices and of single sign-on, and addresses of webhooks, which are often secret. */
const SECRETS = new Set(['key', 'webhook', 'token', 'access_token', 'user_code', 'code']);

/** Addresses of links contain their tokens. */
const LINKS = /^\/(?:files|charts)(?=\/)/;

/** Adds `request.startedAt`, and logs requests at level `debug`. */
export function registerRequestContext(app: FastifyInstance, log: Logger): void {
  app.decorateRequest('startedAt', 0);
  app.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now();
    done();
  });
  // Requests are logged for debugging only. Charged calls are recorded in PostgreSQL.
  if (!log.isLevelEnabled('debug')) return;
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, id: requestId } = request;
    // The raw address is not logged, because it may contain the key.
    const query = Object.entries(request.query as Record<string, unknown>).filter(
      // The path to return to can be that of an invitation.
      ([name, value]) => !SECRETS.has(name) && !String(value).includes('token='),
    );
    const [link] = LINKS.exec(url) ?? [];
    const [path] = link === undefined ? url.split('?', 1) : [link];
    const { statusCode: status, elapsedTime } = reply;
    log.debug(
      { requestId, method, path, query: Object.fromEntries(query), status, ms: Math.round(elapsedTime) },
      'request',
    );
  });
}

/** Headers of all answers and errors of the API and of the tools. They belong to one key, so no cache may store them. */
export const PRIVATE_ANSWER = {
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
  vary: 'Authorization, X-API-Key, Accept-Encoding',
} as const;

/** Browsers use TLS for this host from now on, for a year. */
const STRICT_TRANSPORT = 'max-age=31536000';

const PRIVATE_PATH = /^\/(?:api|mcp)(?:[/?]|$)/;

/**
 * Sets the headers that keep answers out of caches, and browsers on TLS.
 * @param publicUrl the setting PUBLIC_URL.
 */
export function setAnswerHeaders(app: FastifyInstance, publicUrl: string | undefined): void {
  const isOverTls = publicUrl?.startsWith('https:') ?? false;
  app.addHook('onRequest', (request, reply, done) => {
    if (isOverTls) reply.header('strict-transport-security', STRICT_TRANSPORT);
    keepPrivate(request, reply);
    done();
  });
}

/** Sets the headers of answers that belong to one key. Code that replies before the hooks run calls it directly. */
export function keepPrivate({ url }: Pick<FastifyRequest, 'url'>, reply: FastifyReply): void {
  if (PRIVATE_PATH.test(url)) reply.headers(PRIVATE_ANSWER);
}

/** Longest wait for clients that are still reading their answers. */
const DRAIN_LIMIT_MS = 30_000;

/** Makes closing wait for running handlers and for answers that are being sent, and for no other connection. */
export function finishRequestsOnClose(app: FastifyInstance): void {
  finishHandlersOnClose(app);
  closeUnusedConnections(app);
}

/** A handler whose client has disconnected still needs the stores. */
function finishHandlersOnClose(app: FastifyInstance): void {
  let running = 0;
  let onIdle = () => {};
  const end = () => {
    running -= 1;
    if (running === 0) onIdle();
  };
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const result: unknown = handler.call(this, request, reply);
      if (!(result instanceof Promise)) return result;
      running += 1;
      result.then(end, end);
      return result;
    };
  });
  app.addHook('onClose', async () => {
    if (running > 0)
      await new Promise<void>((resolve) => {
        onIdle = resolve;
      });
  });
}

/**
 * Closes connections that wait for no answer. Node.js closes only idle connections, which excludes connections that have
 * not sent a request yet. Browsers open such connections in advance.
 */
function closeUnusedConnections(app: FastifyInstance): void {
  let answering = 0;
  let isClosing = false;
  const closeWhenAnswered = () => {
    if (isClosing && answering === 0) app.server.closeAllConnections();
  };
  const end = () => {
    answering -= 1;
    closeWhenAnswered();
  };
  app.addHook('onRequest', (request, _reply, done) => {
    answering += 1;
    atEnd(request, end);
    done();
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    const limit = setTimeout(() => app.server.closeAllConnections(), DRAIN_LIMIT_MS).unref();
    app.server.once('close', () => clearTimeout(limit));
    closeWhenAnswered();
    done();
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Callbacks for the end of the request; null once it has ended. */
    endings: (() => void)[] | null;
  }
}

/** Lets other plugins act at the end of a request: when its answer has been sent, or its client has disconnected. */
export function registerRequestEnd(app: FastifyInstance): void {
  app.decorateRequest('endings', null);
  app.addHook('onRequest', (request, reply, done) => {
    request.endings = [];
    // Fastify's own hook misses clients that disconnect with the last byte. `once` would create three more objects.
    reply.raw.on('close', () => {
      const endings = request.endings ?? [];
      request.endings = null;
      for (const end of endings) end();
    });
    done();
  });
}

/** Calls `callback` at the end of a request, immediately if it has ended. */
export function atEnd({ endings }: FastifyRequest, callback: () => void): void {
  if (endings) endings.push(callback);
  else callback();
}

/** Counts requests by status. Labels have the pattern of the route, never the address itself. */
export interface RequestMetrics {
  /** Counts errors by code. */
  onEvent: CallEventSink;
  /** Starts to count the requests of a gateway. */
  observe(app: FastifyInstance): void;
}

/** The status that proxies use for clients that disconnected before the answer. */
const LEFT_STATUS = 499;

/** Buckets from cached answers to the longest waits. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const requestsBy = new Counter({
    name: 'souk_http_requests_total',
    help: `Requests by status; ${LEFT_STATUS}: the client disconnected before the answer.`,
    labelNames: ['route', 'method', 'status'],
    registers: [registry],
  });
  const refusalsBy = new Counter({
    name: 'souk_refusals_total',
    help: 'Requests answered with an error, by error code.',
    labelNames: ['code'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'souk_http_request_duration_seconds',
    help: 'Duration of requests, including the time they waited for their jobs.',
    labelNames: ['route'],
    buckets: SECONDS,
    registers: [registry],
  });

  const durationsByRoute = new Map<string, Histogram.Internal<'route'>>();
  const durationOf = (route: string) => {
    const duration = durationsByRoute.get(route) ?? durations.labels(route);
    durationsByRoute.set(route, duration);
    return duration;
  };

  return {
    onEvent(event) {
      if (event.type === 'request.refused') refusalsBy.labels(ERRORS[event.error].code).inc();
    },
    observe(app) {
      app.addHook('onRequest', (request, reply, done) => {
        atEnd(request, () => {
          const status = reply.raw.headersSent ? reply.statusCode : LEFT_STATUS;
          const route = request.routeOptions.url ?? 'none';
          requestsBy.labels(route, request.method, String(status)).inc();
          durationOf(route).observe((performance.now() - request.startedAt) / 1000);
        });
        done();
      });
    },
  };
}

declare module 'fastify' {
  interface FastifyRequest {
    span: Span | null;
  }
}

/** Records each request as a span with the name of its route. Continues a `traceparent` of the client. */
export function traceRequests(app: FastifyInstance, tracing: Tracing): void {
  app.decorateRequest('span', null);
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers } = request;
    const route = request.routeOptions.url;
    const { traceparent } = headers;
    const span = tracing.start({
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      parent: typeof traceparent === 'string' ? traceparent : undefined,
      attributes: {
        'http.request.method': method,
        ...(route === undefined ? {} : { 'http.route': route }),
        'souk.request_id': request.id,
      },
    });
    atEnd(request, () => {
      if (reply.raw.headersSent) span.set({ 'http.response.status_code': reply.statusCode });
      else span.fail('the client disconnected');
      if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
      span.end();
    });
    request.span = span;
    done();
  });
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    // Starts with the handler, because reading a body loses the context of the span.
    route.handler = function (request, reply) {
      const run = (): unknown => handler.call(this, request, reply);
      return request.span ? request.span.within(run) : run();
    };
  });
}

/** How long clients may take to send requests. Answers may take as long as their pool allows. */
export interface RequestLimits {
  /** Address and headers, from the first byte, or from the beginning of a new connection. */
  headersMs: number;
  /** A whole request with its body. */
  requestMs: number;
  /** How often Node.js checks both. */
  checkMs: number;
  /** In each of these periods, at least `leastBodyBytes` of a body must arrive, or its end. */
  bodyPeriodMs: number;
  leastBodyBytes: number;
}

/** A slow request is closed within 12 seconds; the largest upload needs about 1 Mbit/s. */
export const REQUEST_LIMITS: RequestLimits = {
  headersMs: 10_000,
  requestMs: 120_000,
  checkMs: 2_000,
  bodyPeriodMs: 10_000,
  leastBodyBytes: 160 * 1024,
};

/** The settings of a server for these limits. */
export function requestTimeouts({ headersMs, requestMs, checkMs }: RequestLimits) {
  return {
    requestTimeout: requestMs,
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs },
  };
}

/** Refuses requests whose bodies arrive too slowly, and closes their connections. */
export function refuseSlowBodies(
  app: FastifyInstance,
  clock: Clock,
  { bodyPeriodMs, leastBodyBytes }: RequestLimits,
): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    if (!hasBody(raw) || !(raw.socket instanceof Socket)) return done();
    watchBody(raw, clock, { bodyPeriodMs, leastBodyBytes }, () => {
      if (reply.raw.headersSent || raw.listenerCount('error') === 0) raw.socket.destroy();
      else {
        reply.header('connection', 'close');
        // The reader of the body answers with this error.
        raw.emit('error', tooSlow());
      }
    });
    done();
  });
}

/** The refusal of a request that has not arrived in time. */
export function tooSlow(): SoukError {
  return new SoukError('REQUEST_TIMEOUT');
}

function watchBody(
  raw: IncomingMessage,
  clock: Clock,
  { bodyPeriodMs, leastBodyBytes }: Pick<RequestLimits, 'bodyPeriodMs' | 'leastBodyBytes'>,
  onSlow: () => void,
): void {
  const { socket } = raw;
  let bytesBefore = socket.bytesRead;
  let cancel = clock.after(bodyPeriodMs, check, 'request body');
  raw.once('end', () => cancel());
  raw.once('close', () => cancel());

  function check(): void {
    if (raw.complete || socket.destroyed) return;
    const bytes = socket.bytesRead - bytesBefore;
    // If this process has not read the bytes that have arrived, it is the slow side.
    if (bytes < leastBodyBytes && raw.readableLength === 0) {
      onSlow();
      return;
    }
    bytesBefore = socket.bytesRead;
    cancel = clock.after(bodyPeriodMs, check, 'request body');
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** How long a connection stays half open, so that the client receives the answer before the connection is reset. */
const LINGER_MS = 1_000;

/**
 * Closes the connection of a large body that is answered before it has arrived, such as a refused upload. Node.js would read
 * the body to its end.
 */
export function leaveBodiesUnread(app: FastifyInstance, clock: Clock): void {
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (isLeftUnread(raw)) {
      reply.header('connection', 'close');
      closeUnread(raw, clock);
    }
    done();
  });
}

/** Returns whether the rest of a body is not read when its request is answered now. */
export function isLeftUnread({ complete, headers, socket }: IncomingMessage): boolean {
  if (complete || !(socket instanceof Socket)) return false;
  return (
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > BODY_LIMIT_BYTES
  );
}

function closeUnread(raw: IncomingMessage, clock: Clock): void {
  const { socket } = raw;
  // Node.js reads a body that has no reader to its end. This reader takes what has arrived, and does not continue.
  raw.pause();
  raw.read();
  // Closing immediately would reset the connection, and a client that is sending would not receive the answer.
  socket.destroySoon = () => {
    socket.end();
    const cancel = clock.after(LINGER_MS, () => socket.destroy(), 'unread body');
    socket.once('close', cancel);
  };
}
