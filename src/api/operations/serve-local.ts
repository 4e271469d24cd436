import type { FastifyReply, FastifyRequest } from 'fastify';
import type { LocalOperation, Route } from '../../operations/define.ts';
import type { LocalName } from '../../operations/index.ts';
import { sendEnvelope } from '../envelope.ts';
import { accountOf } from '../plugins/authentication.ts';
import { freeQuoteView } from '../quote-view.ts';
import { parseInput } from '../request-input.ts';
import { callOptionsOf } from './call-options.ts';
import { LOCAL_ANSWERS } from './local/index.ts';
import type { LocalAnswer, LocalDeps } from './local/local-answer.ts';

export type { LocalDeps };

/** Serves one route of a local operation. It needs a valid key and is free. */
export function serveLocal(deps: LocalDeps, operation: LocalOperation<LocalName>, route: Route) {
  const answer = LOCAL_ANSWERS[operation.name] as LocalAnswer<LocalOperation>;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const input = parseInput(operation, route, request, deps.clock.now());
    // maxUnits cannot refuse a free call, but invalid options are refused.
    const { dryRun } = callOptionsOf(request, 0);
    if (dryRun) return sendEnvelope(reply, 200, freeQuoteView(operation));
    const { data, message } = await answer(deps, input, accountOf(request));
    return sendEnvelope(reply, 200, data, { message });
  };
}
