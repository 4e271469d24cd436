import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type {
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyServerOptions,
} from 'fastify';
import { ERRORS, SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { isStoreDown } from '../../platform/outage.ts';
import type { CallEvents } from '../../platform/telemetry/call-events.ts';
import { errorBody, JSON_TYPE } from '../../results/envelope.ts';
import { sendError } from '../envelope.ts';
import { invalidBody } from './body-parsing.ts';
import { keepPrivate, PRIVATE_ANSWER, tooSlow } from './requests.ts';

/** Maximum size of the address and headers: allows a thousand image names in a query. */
export const HEADER_LIMIT_BYTES = 65_536;

/** Approximate duration of a restart or a failover of a store. */
export const OUTAGE_RETRY_SECONDS = 5;

export interface ErrorReplyDeps {
  log: Logger;
  events: CallEvents;
}

/**
 * Replies to every error of a route with a public error, and to unknown addresses with `NOT_FOUND`.
 * @param notFoundPage sends the page for an unknown address, if a browser requests it; otherwise returns null.
 */
export function registerErrorReplies(
  app: FastifyInstance,
  { log, events }: ErrorReplyDeps,
  notFoundPage: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | null,
): void {
  app.setErrorHandler(async (error: FastifyError | SoukError | Error, request, reply) => {
    const known = error instanceof SoukError ? error : publicErrorOf(error, request);
    if (known.kind === 'INTERNAL' || (known.kind === 'BUSY' && known !== error)) {
      const place = request.routeOptions.url ?? 'none';
      log.error({ err: error, requestId: request.id, route: place }, 'request failed');
      // The worker has already recorded the failure of a job.
      if (known !== error || known.cause !== undefined)
        events.emit({
          type: 'failure',
          code: ERRORS[known.kind].code,
          place,
          requestId: request.id,
          cause: error,
        });
    }
    events.emit({ type: 'request.refused', error: known.kind });
    return sendError(reply, known);
  });

  app.setNotFoundHandler((request, reply) => {
    events.emit({ type: 'request.refused', error: 'NOT_FOUND' });
    return notFoundPage(request, reply) ?? sendError(reply, new SoukError('NOT_FOUND'));
  });
}

/** Returns server settings that reply to malformed requests with public errors. */
export function malformedRequests({
  log,
  events,
}: ErrorReplyDeps): Pick<FastifyServerOptions, 'frameworkErrors' | 'clientErrorHandler'> {
  return {
    // A request with a malformed address reaches neither a route nor a hook.
    frameworkErrors: (error, request, reply) => {
      log.debug({ code: error.code, requestId: request.id }, 'refused a malformed address');
      request.startedAt = performance.now();
      keepPrivate(request, reply as FastifyReply);
      const refusal = new SoukError('VALIDATION_FAILED', { message: 'The address is malformed.' });
      events.emit({ type: 'request.refused', error: refusal.kind });
      void sendError(reply as FastifyReply, refusal);
    },
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET' || !socket.writable) return;
      // While an earlier request of the connection is answered, an error would become a part of that answer.
      if ((socket as AnsweringSocket)._httpMessage) {
        socket.destroy();
        return;
      }
      const refusal = refusalOf(error);
      events.emit({ type: 'request.refused', error: refusal.kind });
      writeError(socket, refusal);
    },
  };
}

/** The mark of Node.js on a connection on which it answers a request. */
type AnsweringSocket = Socket & { _httpMessage?: ServerResponse | null };

function refusalOf({ code }: Error & { code?: string }): SoukError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return tooSlow();
  if (code === 'HPE_HEADER_OVERFLOW')
    return new SoukError('PAYLOAD_TOO_LARGE', {
      message: `The address and headers are larger than ${HEADER_LIMIT_BYTES} bytes.`,
    });
  return new SoukError('VALIDATION_FAILED', { message: 'The request is not valid HTTP.' });
}

/** Writes a complete response to a connection without a parsed request. */
function writeError(socket: Socket, error: SoukError): void {
  const body = errorBody(error);
  const { status } = ERRORS[error.kind];
  const headers = {
    'content-type': JSON_TYPE,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...PRIVATE_ANSWER,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}

/** Converts an error that is not a SoukError: of Fastify for a malformed request, of a store that is down, or a bug. */
function publicErrorOf(error: FastifyError | Error, request: FastifyRequest): SoukError {
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE': {
      const message = `The request body is larger than ${request.routeOptions.bodyLimit} bytes.`;
      return new SoukError('PAYLOAD_TOO_LARGE', { message });
    }
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new SoukError('UNSUPPORTED_MEDIA_TYPE');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new SoukError('VALIDATION_FAILED');
  }
  if (statusCode >= 400 && statusCode < 500) return invalidBody(request, 'is not valid JSON');
  if (isStoreDown(error)) {
    const message = 'A part of the service is unavailable; retry later.';
    return new SoukError('BUSY', { message, retryAfterSeconds: OUTAGE_RETRY_SECONDS, cause: error });
  }
  return new SoukError('INTERNAL', { cause: error });
}
