import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';

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
