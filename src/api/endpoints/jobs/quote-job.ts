import { OPERATION_SCOPES } from '../../../accounts/scopes.ts';
import { enveloped } from '../../openapi/responses.ts';
import { answerCall, type QueuedDeps } from '../../operations/serve-queued.ts';
import { quoteSchema } from '../../quote-view.ts';
import { endpoint } from '../endpoint.ts';
import { AT_ONCE, callBody, callExample, parsedCall } from './create-job.ts';

export const quoteJob = endpoint({
  tag: 'jobs',
  method: 'post',
  path: '/api/jobs/quote',
  scopes: OPERATION_SCOPES,
  summary: 'Returns the price of a call, and whether it would be accepted, without making the call.',
  body: { description: 'The call', schema: callBody, example: callExample },
  answers: { 200: enveloped('The price of the call', quoteSchema) },
  errors: ['SELECTION_INVALID'],

  async handle(deps: QueuedDeps, { body, request, reply }) {
    return answerCall(deps, {
      ...{ request, reply, ...parsedCall(body, deps.clock.now()) },
      options: { preference: AT_ONCE, dryRun: true, maxUnits: body.maxUnits },
      webhook: null,
    });
  },
});
