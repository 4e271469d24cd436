import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Attempts } from '../accounts/attempts.ts';
import {
  createMetricsCheck,
  createOperatorGuard,
  createTokenCheck,
  TOKEN_CHALLENGE,
  type Verdict,
} from '../accounts/operator-token.ts';
import { writeRefusal } from '../operator/audit.ts';
import type { Database } from '../platform/db/pool.ts';
import { SoukError } from '../platform/errors.ts';
import { sendError } from './envelope.ts';

interface TokenDeps {
  attempts: Attempts;
  database: Database;
}

/**
 * Refuses requests without the operator's token, before the body is read.
 * @param isSignedIn accepts requests without the token, too.
 */
export function requireToken(
  token: string,
  { attempts, database }: TokenDeps,
  isSignedIn: (request: FastifyRequest) => boolean = () => false,
) {
  const isGood = createTokenCheck(token);
  const judge = createOperatorGuard(attempts, (address) => writeRefusal(database, address));
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { authorization } = request.headers;
    const verdict = authorization === undefined ? NO_TOKEN : await judge(request.ip, isGood(authorization));
    if (verdict.isRight || isSignedIn(request)) return undefined;
    return sendError(reply, refusal(reply, verdict));
  };
}

/** Refuses requests that may not read the metrics. @param token the setting METRICS_TOKEN. @param hasProxy whether PUBLIC_URL or TRUST_PROXY is set. */
export function requireMetricsAccess(token: string | undefined, hasProxy: boolean) {
  const mayRead = createMetricsCheck(token, hasProxy);
  return async ({ raw }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    if (mayRead(raw)) return undefined;
    if (token !== undefined) return sendError(reply, refusal(reply, NO_TOKEN));
    const message = hasProxy
      ? 'While PUBLIC_URL or TRUST_PROXY is set, the metrics require METRICS_TOKEN: set METRICS_TOKEN.'
      : 'Without METRICS_TOKEN only programs on the same machine may read the metrics: set METRICS_TOKEN.';
    return sendError(reply, new SoukError('KEY_INVALID', { message }));
  };
}

const NO_TOKEN: Verdict = { isRight: false, waitSeconds: null };

/** The answer to a request whose token was not accepted. */
export function refusal(reply: FastifyReply, { waitSeconds }: Verdict): SoukError {
  if (waitSeconds !== null)
    return new SoukError('TOO_MANY_ATTEMPTS', {
      message: `Too many incorrect operator tokens came from this network. Try again in ${waitSeconds} seconds.`,
      retryAfterSeconds: waitSeconds,
    });
  reply.header('www-authenticate', TOKEN_CHALLENGE);
  return new SoukError('KEY_INVALID', { message: 'Missing or incorrect operator token.' });
}
