import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { credentialsOf, type KeyPlaces, keysIn } from '../accounts/credentials.ts';
import { inputOn, type QueuedOperation, type Route } from '../operations/define.ts';
import { toFaults } from '../operations/faults.ts';
import { ERRORS, invalidParameters, SoukError } from '../platform/errors.ts';
import type { Gateway } from './gateway.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The digest of its API key, once that was found to be well formed. */
    keyHash: Buffer | null;
  }
}

/** The digest of a request's API key. @throws SoukError KEY_INVALID. */
export function keyHashOf({ wrongKeys }: Pick<Gateway, 'wrongKeys'>, request: FastifyRequest): Buffer {
  const keyHash = credentialsOf(keyPlacesOf(request));
  request.keyHash = keyHash;
  wrongKeys.check(request.ip, keyHash);
  return keyHash;
}

/** The key itself, of a request whose key was found to be well formed; for requests that are made on its behalf. */
export function keyOf(request: FastifyRequest): string {
  return String(keysIn(keyPlacesOf(request))[0]).trim();
}

/** Whether a request carries anything that is meant to be a key. */
export function carriesKey(request: FastifyRequest): boolean {
  return keysIn(keyPlacesOf(request)).length > 0;
}

/** The canonical input of a request to an operation. @throws SoukError VALIDATION_FAILED or SELECTION_INVALID, naming every bad parameter. */
export function parseInput<Input>(
  operation: Pick<QueuedOperation<string, Input>, 'params' | 'onDay' | 'invalidKind'>,
  route: Route,
  request: FastifyRequest,
  now: number,
): Input {
  const { query, body, params } = request as {
    query: Record<string, unknown>;
    body: unknown;
    params: Record<string, unknown>;
  };
  const raw = route.decode ? route.decode({ query, body, params }) : route.method === 'GET' ? query : body;
  return inputOn(operation, parseAs(operation.params, raw, operation.invalidKind), now);
}

/** A value a caller sent, as a schema wants it. @throws SoukError naming every bad parameter. */
export function parseAs<Value>(
  schema: z.ZodType<Value>,
  raw: unknown,
  invalidKind?: 'SELECTION_INVALID',
): Value {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw invalidParameters(result.error.issues.flatMap(toFaults), invalidKind);
}

/** The account of a request whose parameters are fine. @throws the key's error before that of `check`. */
export async function accountOf(
  gateway: Pick<Gateway, 'wrongKeys' | 'authentication'>,
  request: FastifyRequest,
  check: () => void = () => {},
): Promise<number> {
  const keyHash = keyHashOf(gateway, request);
  await orKeyError(gateway, keyHash, check);
  return gateway.authentication.accountOf(keyHash);
}

/** Does what a request asks; when it is refused and its key is no good either, the error is the key's. */
export async function orKeyError<T>(
  { authentication }: Pick<Gateway, 'authentication'>,
  keyHash: Buffer,
  read: () => T | Promise<T>,
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SoukError && isSaidBeforeTheKeyIsJudged(error))
      await authentication.accountOf(keyHash);
    throw error;
  }
}

function isSaidBeforeTheKeyIsJudged({ kind }: SoukError): boolean {
  return ERRORS[kind].status === 400 || kind === 'QUOTA_MAX_UNITS' || kind === 'BUSY';
}

function keyPlacesOf(request: FastifyRequest): KeyPlaces {
  const { key } = request.query as Record<string, unknown>;
  return {
    apiKeyHeader: request.headers['x-api-key'],
    authorizationHeader: request.headers.authorization,
    keyParameter: key,
  };
}
