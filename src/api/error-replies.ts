import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { ERRORS, SoukError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import { isStoreAway } from '../platform/outage.ts';
import { sendError } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { carriesKey, keyHashOf } from './request-input.ts';

/** A restart or a failover of a store takes about so long. */
const OUTAGE_RETRY_SECONDS = 5;

/** Whatever goes wrong in a route leaves as an error of the list. */
export function registerErrorReplies(
  app: FastifyInstance,
  deps: { now: () => number; log: Logger } & Pick<Gateway, 'wrongKeys' | 'authentication' | 'events'>,
): void {
  const { now, log, wrongKeys, events } = deps;

  app.setErrorHandler(async (error: FastifyError | SoukError | Error, request, reply) => {
    const known = error instanceof SoukError ? error : await keyFirst(fromFramework(error, request), request);
    if (known.kind === 'INTERNAL' || (known.kind === 'BUSY' && known !== error)) {
      const place = request.routeOptions.url ?? 'none';
      log.error({ err: error, requestId: request.id, route: place }, 'request failed');
      // The failure of a job was noted where it happened.
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
    const isWrongKey = known.kind === 'KEY_INVALID' && carriesKey(request);
    return sendError(reply, isWrongKey ? wrongKeys.refuse(request.ip, request.keyHash, known) : known, now());
  });

  /** A body is read before any route looks at the key; when the key is no good either, the error is the key's. */
  async function keyFirst(refusal: SoukError, request: FastifyRequest): Promise<SoukError> {
    if (refusal.kind === 'INTERNAL' || refusal.kind === 'BUSY' || !needsKey(request)) return refusal;
    try {
      await deps.authentication.accountOf(keyHashOf(deps, request));
      return refusal;
    } catch (error) {
      return error instanceof SoukError ? error : fromFramework(error as Error, request);
    }
  }

  app.setNotFoundHandler((_request, reply) => {
    events.emit({ type: 'request.refused', error: 'NOT_FOUND' });
    return sendError(reply, new SoukError('NOT_FOUND'), now());
  });
}

function needsKey({ routeOptions: { url = '' } }: FastifyRequest): boolean {
  return url.startsWith('/api/') || url === '/mcp';
}

/** Fastify's own refusals of a request, in our words. */
function fromFramework(error: FastifyError | Error, request: FastifyRequest): SoukError {
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const limit = request.routeOptions.bodyLimit;
    return new SoukError('PAYLOAD_TOO_LARGE', { message: `The request body is larger than ${limit} bytes.` });
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') {
    return new SoukError(code.endsWith('TYPE') ? 'UNSUPPORTED_MEDIA_TYPE' : 'VALIDATION_FAILED');
  }
  if (statusCode >= 400 && statusCode < 500) {
    const message = 'body: is not valid JSON';
    return new SoukError(request.routeOptions.config.invalidJsonKind ?? 'VALIDATION_FAILED', {
      message,
      metadata: { errors: [{ parameter: 'body', problem: 'is not valid JSON' }] },
    });
  }
  if (isStoreAway(error)) {
    const message = 'A part of the service cannot be reached just now.';
    return new SoukError('BUSY', { message, retryAfterSeconds: OUTAGE_RETRY_SECONDS, cause: error });
  }
  return new SoukError('INTERNAL', { cause: error });
}
