import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import type { WrongKeys } from '../accounts/wrong-keys.ts';
import { SoukError } from '../errors.ts';
import type { Logger } from '../log.ts';
import { sendError } from './envelope.ts';
import { carriesKey } from './request-input.ts';

/** Whatever goes wrong in a route leaves as an error of the list. */
export function registerErrorReplies(
  app: FastifyInstance,
  deps: { now: () => number; log: Logger; wrongKeys: WrongKeys },
): void {
  const { now, log, wrongKeys } = deps;

  app.setErrorHandler((error: FastifyError | SoukError | Error, request, reply) => {
    const known = error instanceof SoukError ? error : fromFramework(error, request);
    if (known.kind === 'INTERNAL')
      log.error({ err: error, requestId: request.id, route: request.routeOptions.url }, 'request failed');
    const isWrongKey = known.kind === 'KEY_INVALID' && carriesKey(request);
    return sendError(reply, isWrongKey ? wrongKeys.refuse(request.ip, request.keyHash, known) : known, now());
  });

  app.setNotFoundHandler((_request, reply) => sendError(reply, new SoukError('NOT_FOUND'), now()));
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
    const message = `body: is not valid JSON (${error.message})`;
    return new SoukError(request.routeOptions.config.invalidJsonKind ?? 'VALIDATION_FAILED', {
      message,
      metadata: { errors: [{ parameter: 'body', problem: 'is not valid JSON' }] },
    });
  }
  return new SoukError('INTERNAL', { cause: error });
}
