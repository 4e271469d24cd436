import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LocalOperation, Route } from '../operations/define.ts';
import type { LocalName } from '../operations/index.ts';
import { callOptionsOf } from './call-options.ts';
import { sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { LOCAL_ANSWERS } from './local/index.ts';
import type { LocalAnswer } from './local/local-answer.ts';
import { freeQuoteView } from './quote-view.ts';
import { keyHashOf, parseInput } from './request-input.ts';

/** Serves one route of a local operation: a valid key is all it takes, and nothing is charged. */
export function serveLocal(gateway: Gateway, operation: LocalOperation, route: Route) {
  const answer = LOCAL_ANSWERS[operation.name as LocalName] as LocalAnswer<LocalOperation>;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const keyHash = keyHashOf(gateway, request);
    const accountId = await gateway.authentication.accountOf(keyHash);
    const input = parseInput(operation, route, request, gateway.clock.now());
    // Nothing is charged, so nothing is refused for its price; a bad option is refused all the same.
    const { dryRun } = callOptionsOf(request, 0);
    if (dryRun) return sendEnvelope(reply, 200, freeQuoteView(operation), { now: gateway.clock.now() });
    const { data, message } = await answer(gateway, input, { keyHash, accountId });
    return sendEnvelope(reply, 200, data, { ...(message ? { message } : {}), now: gateway.clock.now() });
  };
}
