import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Route } from '../../operations/define.ts';
import { callerJsonFault } from '../../platform/caller-json.ts';
import { invalidParameters, SoukError } from '../../platform/errors.ts';
import { hasLargeNumber, parseJson } from '../../platform/json.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The error for a body that is not JSON. */
    invalidJsonKind?: Route['invalidJsonKind'];
  }
}

/** Maximum size of a body that the gateway parses. */
export const BODY_LIMIT_BYTES = 65_536;

/** Parses JSON bodies in linear time. Integers beyond 2^53 keep their digits. */
export function parseJsonBodies(app: FastifyInstance): void {
  app.removeContentTypeParser('text/plain');
  const parseBody = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text: string, done) => {
    // Some clients send a content type without a body, also to addresses that take none.
    if (text === '') {
      done(null, undefined);
      return;
    }
    const compressed = encodingFault(request.headers);
    if (compressed) {
      done(compressed);
      return;
    }
    const tooLarge = callerJsonFault(text);
    if (tooLarge !== null) {
      done(invalidBody(request, tooLarge.problem));
      return;
    }
    // The framework's parser also refuses fields that would set a prototype.
    void parseBody(request, text, (error, value: unknown) => {
      if (error) done(error);
      else if (!hasLargeNumber(value)) done(null, value);
      else parseWithLargeIntegers(request, text, done);
    });
  });
}

/** Returns the refusal of a compressed body, which would not be JSON; null for any other. */
function encodingFault({ 'content-encoding': encoding }: FastifyRequest['headers']): SoukError | null {
  if (encoding === undefined || encoding === 'identity') return null;
  const message = `The request body must be sent without Content-Encoding ${encoding.slice(0, 20)}.`;
  return new SoukError('UNSUPPORTED_MEDIA_TYPE', { message });
}

function parseWithLargeIntegers(
  request: FastifyRequest,
  text: string,
  done: (error: Error | null, body?: unknown) => void,
): void {
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    done(invalidBody(request, 'has a number with too many digits'));
    return;
  }
  done(null, body);
}

/** Creates the 400 for a body that is not the JSON the route takes. */
export function invalidBody({ routeOptions }: FastifyRequest, problem: string): SoukError {
  return invalidParameters([{ parameter: 'body', problem }], routeOptions.config.invalidJsonKind);
}

/** Passes the bodies of a scope on unparsed, for their handlers. */
export function keepBodies(scope: FastifyInstance, as: 'bytes' | 'stream'): void {
  scope.removeAllContentTypeParsers();
  if (as === 'bytes') {
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    );
    return;
  }
  const types = ['application/json', 'application/x-ndjson'];
  scope.addContentTypeParser(types, (_request, payload, done) => done(null, payload));
}
