import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import type { WrongKeys } from '../../accounts/attempts.ts';
import {
  type Authentication,
  credentialsOf,
  type KeyPlaces,
  type KnownKey,
  keysIn,
  modeOfKey,
  refusalOf,
  unknownToken,
} from '../../accounts/authentication.ts';
import {
  isInScope,
  type KeyScopes,
  OPERATION_SCOPES,
  requireScope,
  SCOPES,
  type Scope,
  scopeNamed,
} from '../../accounts/key-settings.ts';
import type { Operation } from '../../operations/define.ts';
import { QUEUED, queuedOperation } from '../../operations/index.ts';
import { ERRORS, type ErrorKind, SoukError } from '../../platform/errors.ts';
import type { EndpointDescription } from '../endpoints/endpoint.ts';

/** A key that may make calls may follow them up by the ids of their jobs; `requireUse` compares the operation. */
export const OWN_JOB_SCOPES: readonly Scope[] = ['read', ...OPERATION_SCOPES];

/** Returns the scopes of which a key needs one for an operation. Every key may read its quota. */
export function scopesOfOperation({ kind, toolset }: Pick<Operation, 'kind' | 'toolset'>): readonly Scope[] {
  if (toolset === 'account') return [];
  return kind === 'queued' ? [scopeNamed(toolset)] : ['read', scopeNamed(toolset)];
}

/** Returns the scopes for an endpoint, of which a key needs one: the scope of its group and, if it only reads, `read`. */
export function scopesOfEndpoint({
  tag,
  method,
  scopes,
}: Pick<EndpointDescription, 'tag' | 'method' | 'scopes'>): readonly Scope[] {
  if (scopes) return scopes;
  const own = SCOPES.filter((scope) => scope === tag);
  return method === 'get' ? ['read', ...own] : own;
}

interface WithScopes {
  scopes: KeyScopes;
}

/**
 * Requires that a key may use a job, batch, schedule or tracker of an operation: to read it, the scope of the operation or `read`;
 * to cancel, retry, change, run or delete it, the scope of the operation.
 * @throws SoukError KEY_SCOPE_MISSING.
 */
export function requireUse({ scopes }: WithScopes, operation: string, use: 'read' | 'change'): void {
  const found = queuedOperation(operation);
  const own = found ? [scopeNamed(found.toolset)] : [];
  requireScope(scopes, use === 'read' ? ['read', ...own] : own);
}

/**
 * Makes a function that returns what an id names, if it belongs to the account and its key may use it.
 * @param unknown its error if the account has nothing with the id; it also throws KEY_SCOPE_MISSING.
 */
export function owned<Deps, Found extends { operation: string }>(
  unknown: ErrorKind,
  find: (deps: Deps, accountId: number, id: string) => Promise<Found | null>,
) {
  return async (
    deps: Deps,
    account: Account,
    id: string,
    use: 'read' | 'change' = 'read',
  ): Promise<Found> => {
    const found = await find(deps, account.accountId, id);
    if (!found) throw new SoukError(unknown);
    requireUse(account, found.operation, use);
    return found;
  };
}

/** Returns the operations whose batches, schedules and trackers a key may read; null: all. */
export function readableOperations({ scopes }: WithScopes): readonly string[] | null {
  if (isInScope(scopes, ['read'])) return null;
  return QUEUED.filter(({ toolset }) => isInScope(scopes, [scopeNamed(toolset)])).map(({ name }) => name);
}

/** The owner of a request's API key, and the key. */
export interface Account extends KnownKey {
  keyHash: Buffer;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The digest of the API key, or of that of the connection; null until the key is known to be well formed. */
    keyHash: Buffer | null;
    /** Whether the request has an access token of a connection instead of a key. */
    hasToken: boolean;
    /** The account of the key, which may have been revoked a moment ago; for limits, and for the mode of a call. */
    accountId: number | null;
    /** What is known of the key; it may have been changed a moment ago. */
    knownKey: KnownKey | null;
    /** The account; null until the key is known to be valid. */
    account: Account | null;
  }

  interface FastifyContextConfig {
    /** The scopes of which a key needs one. Default: none. */
    scopes?: readonly Scope[] | undefined;
  }
}

export interface AuthenticationDeps {
  authentication: Authentication;
  wrongKeys: WrongKeys;
  /** The setting TEST_MODE. */
  hasTestMode: boolean;
  /** Returns the header that tells the client of a refused request how to sign in; null: it cannot. */
  challengeOf(request: FastifyRequest, about?: Challenge): string | null;
}

/** Why a client has to sign in; absent: it has sent no key. */
interface Challenge {
  error?: 'invalid_token' | 'insufficient_scope';
  /** The scopes to ask for. */
  scopes?: readonly Scope[];
}

/** Adds `request.keyHash` and `request.account`; scopes fill them by `requireKey` and `requireAccount`. */
export function decorateWithAccount(app: FastifyInstance): void {
  app.decorateRequest('keyHash', null);
  app.decorateRequest('hasToken', false);
  app.decorateRequest('accountId', null);
  app.decorateRequest('knownKey', null);
  app.decorateRequest('account', null);
}

/** Requires a valid key on every route of a scope, before the body is read. The handlers find its account by `accountOf`. */
export function requireAccount(scope: FastifyInstance, deps: AuthenticationDeps): void {
  scope.addHook('onRequest', async (request) => {
    await findKey(deps, request);
    if (!request.account) await authenticate(deps, request, wellFormedKey(request));
  });
  replyWithKeyErrors(scope, deps);
}

/**
 * Requires a key on every route of a scope, before the body is read. A key that this process has seen to be valid
 * passes without a look-up: the admission of the call checks it again, in the same round trip. A handler that finds
 * the account sets `request.account`.
 */
export function requireKey(scope: FastifyInstance, deps: AuthenticationDeps): void {
  // Without a promise if the key is known, as nearly every key is. Fastify awaits one that is returned.
  scope.addHook('onRequest', (request, _reply, done) => {
    const found = findKey(deps, request);
    if (!found) done();
    return found;
  });
  replyWithKeyErrors(scope, deps);
}

/** Returns the digest of the key, in a scope that requires a key. */
export function wellFormedKey({ keyHash }: FastifyRequest): Buffer {
  if (keyHash) return keyHash;
  throw new Error('the route is not in a scope that requires a key');
}

/** Returns the key, which may have been revoked or changed a moment ago, in a scope that requires a key. */
export function knownKeyOf({ knownKey }: FastifyRequest): KnownKey {
  if (knownKey) return knownKey;
  throw new Error('the route is not in a scope that requires a key');
}

/** Returns the account, in a scope that requires an account. */
export function accountOf({ account }: FastifyRequest): Account {
  if (account) return account;
  throw new Error('the route is not in a scope that requires an account');
}

/** Looks up the key of a request before its admission does. @throws SoukError KEY_* if it must not be used for this request. */
export async function authenticate(
  { authentication }: Pick<AuthenticationDeps, 'authentication'>,
  request: FastifyRequest,
  keyHash: Buffer,
): Promise<Account> {
  const key = await authentication.find(keyHash);
  request.accountId = key.accountId;
  request.knownKey = key;
  const refusal = refusalOf(key, request, request.routeOptions.config.scopes ?? []);
  if (refusal) throw refusal;
  request.account = { ...key, keyHash };
  return request.account;
}

/** Returns the well-formed key of a request, for requests that are sent on its behalf. */
export function keyOf(request: FastifyRequest): string {
  return String(keysIn(keyPlacesOf(request))[0]).trim();
}

/**
 * Finds the key of a request: immediately if this gateway knows it, and returns null; otherwise, or if it knows it to be limited, by a
 * look-up. @throws SoukError KEY_* or TOO_MANY_ATTEMPTS.
 */
function findKey(deps: AuthenticationDeps, request: FastifyRequest): Promise<unknown> | null {
  const { hash, isToken } = credentialsOf(keyPlacesOf(request));
  const { authentication } = deps;
  request.hasToken = isToken;
  const keyHash = isToken ? authentication.knownKeyOfToken(hash) : hash;
  if (keyHash) return useKey(deps, request, keyHash);
  return deps.wrongKeys
    .lookUp(request.ip, hash, () => authentication.keyOfToken(hash))
    .catch((error: SoukError) => {
      if (error.kind === 'KEY_INVALID') deps.wrongKeys.count(request.ip, hash);
      throw error;
    })
    .then((found) => useKey(deps, request, found));
}

function useKey(deps: AuthenticationDeps, request: FastifyRequest, keyHash: Buffer): Promise<unknown> | null {
  if (!deps.hasTestMode && !request.hasToken && modeOfKey(keyOf(request)) === 'test') throw testModeOff();
  request.keyHash = keyHash;
  const known = deps.authentication.known(keyHash);
  request.accountId = known?.accountId ?? null;
  request.knownKey = known;
  if (!known) return deps.wrongKeys.lookUp(request.ip, keyHash, () => authenticate(deps, request, keyHash));
  const refusal = refusalOf(known, request, request.routeOptions.config.scopes ?? []);
  // The limits may have been widened since they were looked up.
  return refusal ? authenticate(deps, request, keyHash) : null;
}

const testModeOff = () =>
  new SoukError('KEY_INVALID', {
    message:
      'This service does not accept test keys. Send a live key, which starts with km_ and not with km_test_.',
  });

/**
 * Replies with errors of the key before other errors of a request, counts unknown keys by address, and tells clients how to sign in.
 */
function replyWithKeyErrors(scope: FastifyInstance, deps: AuthenticationDeps): void {
  scope.setErrorHandler(async (error: FastifyError | SoukError | Error, request, reply) => {
    const first = ofToken(await keyErrorFirst(deps, error, request), request);
    const { keyHash } = request;
    if (isKeyError(first) && keyHash) {
      deps.authentication.forget(keyHash);
      if (first.kind === 'KEY_INVALID' && !request.hasToken) deps.wrongKeys.count(request.ip, keyHash);
    }
    const challenge = first instanceof SoukError ? challengeFor(deps, first, request) : null;
    if (challenge) reply.header('www-authenticate', challenge);
    throw first;
  });
}

/** A client whose connection has ended has to sign in again, which it does after a 401. */
function ofToken(error: Error, { hasToken }: FastifyRequest): Error {
  return hasToken && error instanceof SoukError && error.kind === 'KEY_FORBIDDEN' ? unknownToken() : error;
}

function challengeFor(
  deps: AuthenticationDeps,
  { kind, metadata }: SoukError,
  request: FastifyRequest,
): string | null {
  if (kind === 'KEY_INVALID') {
    const hasCredentials = keysIn(keyPlacesOf(request)).length > 0;
    return deps.challengeOf(request, hasCredentials ? { error: 'invalid_token' } : {});
  }
  if (kind !== 'KEY_SCOPE_MISSING') return null;
  const { requiredScopes = [] } = (metadata ?? {}) as { requiredScopes?: readonly Scope[] };
  // The scopes that the connection has, so that the next one can do what this one can.
  const scopes = new Set([...(request.knownKey?.scopes ?? []), ...requiredScopes.slice(0, 1)]);
  return deps.challengeOf(request, { error: 'insufficient_scope', scopes: [...scopes] });
}

function isKeyError(error: Error): error is SoukError {
  return error instanceof SoukError && (error.kind === 'KEY_INVALID' || error.kind === 'KEY_FORBIDDEN');
}

async function keyErrorFirst(
  deps: AuthenticationDeps,
  error: Error,
  request: FastifyRequest,
): Promise<Error> {
  const { account, keyHash } = request;
  if (account || !keyHash || !precedesAdmission(error)) return error;
  try {
    await authenticate(deps, request, keyHash);
    return error;
  } catch (keyError) {
    return keyError as Error;
  }
}

/** Returns whether an error may have occurred before the admission of the call checked the key. */
function precedesAdmission(error: FastifyError | SoukError | Error): boolean {
  if (error instanceof SoukError)
    return ERRORS[error.kind].status === 400 || error.kind === 'QUOTA_MAX_UNITS' || error.kind === 'BUSY';
  const { statusCode = 500 } = error as Partial<FastifyError>;
  return statusCode >= 400 && statusCode < 500;
}

function keyPlacesOf(request: FastifyRequest): KeyPlaces {
  const { key } = request.query as Record<string, unknown>;
  return {
    apiKeyHeader: request.headers['x-api-key'],
    authorizationHeader: request.headers.authorization,
    keyParameter: key,
  };
}
