import type { FastifyReply } from 'fastify';
import { canBeMadeAgain, enqueueAgain } from '../../../../jobs/lost-answer.ts';
import type { Queues } from '../../../../jobs/queues.ts';
import type { CompletionMap } from '../../../../jobs/wait.ts';
import type { Call } from '../../../billing/calls.ts';
import type { QueuedOperation } from '../../../operations/define.ts';
import { QUEUED, queuedOperation } from '../../../operations/index.ts';
import { fromRecord } from '../../../platform/error-record.ts';
import { SoukError } from '../../../platform/errors.ts';
import { type AnswerStore, OWN_ANSWER } from '../../../results/answer-store.ts';
import { type JobViewDeps, jobSchema } from '../../job-view.ts';
import { acceptedJob, enveloped } from '../../openapi/responses.ts';
import { dataOf, reference } from '../../openapi/schemas.ts';
import { OWN_JOB_SCOPES } from '../../scopes.ts';
import { sendAnswer } from '../../send-answer.ts';
import { endpoint } from '../endpoint.ts';
import { awaitedJob, jobId, type OwnJobDeps, sendJob, waitQuery } from './own-job.ts';

interface ResultDeps extends OwnJobDeps, JobViewDeps {
  completions: CompletionMap;
  answers: AnswerStore;
  queues: Queues;
  completionChannel: string;
}

/** Schemas of the data of each operation. Pictures are not JSON. */
const results = QUEUED.flatMap(({ name, respond }) =>
  respond.type === 'json' ? [{ ...reference(dataOf(name)) }] : [],
);
const answer = enveloped('The answer', { anyOf: results } as never, 'X-Job-Id', 'X-Cache', 'X-Units-Charged');

export const getJobResult = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs/{id}/result',
  tool: 'jobs_get_result',
  follows: 'job',
  summary: "Returns a job's result: the answer or the error of its call.",
  id: jobId,
  scopes: OWN_JOB_SCOPES,
  query: waitQuery,
  answers: {
    200: {
      ...answer,
      content: {
        ...answer.content,
        'text/csv': { schema: { type: 'string' } },
        'image/png': { schema: { type: 'string', format: 'binary' } },
      },
    },
    202: acceptedJob('The job has not ended', jobSchema, 'X-Job-Id', 'Retry-After'),
  },
  errors: [
    'RESULT_EXPIRED',
    'PRODUCT_NOT_FOUND',
    'CANCELLED',
    'UPSTREAM_ERROR',
    'UPSTREAM_TIMEOUT',
    'DEADLINE_PASSED',
  ],

  async handle(deps: ResultDeps, { account, id, query, reply }) {
    const call = await awaitedJob(deps, account, id, query.wait);
    if (call.error) throw fromRecord(call.error);
    if (call.state === 'reserved') return sendJob(deps, reply, call, 202);
    const stored = await deps.answers.load(id, call.answer ?? OWN_ANSWER);
    if (!stored) return makeAgain(deps, reply, call);
    const cache = stored.meta.fromCache ? 'HIT' : 'MISS';
    return sendAnswer(reply, stored, { unitsConsumed: 0, unitsCharged: call.unitsCharged, jobId: id, cache });
  },
});

/** Returns the error with what is known of the call, so that a client can make it again. */
function expired(
  operation: QueuedOperation | undefined,
  { operation: name, input: params }: Call,
): SoukError {
  if (!operation || params === null)
    return new SoukError('RESULT_EXPIRED', { metadata: { operation: name, params: null, units: null } });
  const units = operation.price.quote(params);
  return new SoukError('RESULT_EXPIRED', {
    message: `The result of this job has expired. Make the call again, for ${units === 1 ? '1 unit' : `${units} units`}: "operation" and "params" of the metadata are a body of POST /api/jobs.`,
    metadata: { operation: name, params, units },
  });
}

/** Runs a paid call again, free of charge, if the store has lost its answer. */
async function makeAgain(deps: ResultDeps, reply: FastifyReply, call: Call): Promise<FastifyReply> {
  const operation = queuedOperation(call.operation);
  if (!operation || call.input === null || !canBeMadeAgain(call, deps.clock.now()))
    throw expired(operation, call);
  await deps.answers.keep(call);
  await enqueueAgain(deps, operation, call);
  return sendJob(deps, reply, call, 202);
}
