import type { FastifyReply, FastifyRequest } from 'fastify';
import { createTokenCheck, TOKEN_CHALLENGE } from '../accounts/operator-token.ts';
import { SoukError } from '../platform/errors.ts';
import { sendError } from './envelope.ts';

/**
 * Lets only an operator with the token through, before anything of the request is read.
 * @param isSignedIn lets others through as well.
 */
export function requireToken(
  token: string,
  isSignedIn: (request: FastifyRequest) => Promise<boolean> = async () => false,
) {
  const isGood = createTokenCheck(token);
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    if (isGood(request.headers.authorization) || (await isSignedIn(request))) return undefined;
    reply.header('www-authenticate', TOKEN_CHALLENGE);
    const message = "The operator's token of this address is missing or wrong.";
    return sendError(reply, new SoukError('KEY_INVALID', { message }));
  };
}
