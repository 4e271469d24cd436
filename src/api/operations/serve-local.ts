import type { FastifyReply, FastifyRequest } from 'fastify';
import { project } from '../../operations/answer-fields.ts';
import type { LocalOperation, Route } from '../../operations/define.ts';
import type { LocalName } from '../../operations/index.ts';
import { formOf } from '../../operations/params/answer-form.ts';
import { sendEnvelope } from '../envelope.ts';
import { accountOf } from '../plugins/authentication.ts';
import { freeQuoteView } from '../quote-view.ts';
import { callOptionsOf, parseInput } from './call-options.ts';
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
    const { fields } = formOf(input);
    return sendEnvelope(reply, 200, fields ? project(operation, data, fields) : data, { message });
  };
}
