import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { type CancelDeps, cancelJob as cancel } from '../../../jobs/control.ts';
import { canBeMadeAgain, enqueueAgain } from '../../../jobs/polled.ts';
import type { Queues } from '../../../jobs/queues.ts';
import type { CompletionMap } from '../../../jobs/wait.ts';
import { OPERATION_SCOPES } from '../../accounts/key-settings.ts';
import { type Call, listCalls } from '../../billing/calls.ts';
import { inputOn, priceAgain, type QueuedOperation } from '../../operations/define.ts';
import { QUEUED, QUEUED_NAMES, queuedOperation } from '../../operations/index.ts';
import { withFormApart } from '../../operations/params/answer-form.ts';
import { exactObject } from '../../operations/params/request.ts';
import { instant, integer, isInOrder, NOT_IN_ORDER, oneOf, text } from '../../operations/params/scalars.ts';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import { fromRecord, SoukError } from '../../platform/errors.ts';
import { type AnswerStore, OWN_ANSWER } from '../../results/answer-store.ts';
import { JOB_LIFETIME_MS } from '../../results/cache.ts';
import { sendEnvelope, setFacts } from '../envelope.ts';
import { uuidParameter } from '../ids.ts';
import {
  acceptedSchema,
  awaitedJob,
  JOB_STATES,
  type JobState,
  type JobViewDeps,
  jobId,
  jobSchema,
  listedJob,
  type OwnJobDeps,
  ownJob,
  sendJob,
  waitQuery,
} from '../job-view.ts';
import { acceptedJob, enveloped, partialAnswers, QUOTA_ERRORS, TABLE_CONTENT } from '../openapi/responses.ts';
import { dataOf, reference } from '../openapi/schemas.ts';
import { callWebhookOf, formatOf, parseAs } from '../operations/call-options.ts';
import { answerCall, type QueuedDeps } from '../operations/serve-queued.ts';
import { OWN_JOB_SCOPES } from '../plugins/authentication.ts';
import { quoteSchema } from '../quote-view.ts';
import { answerFile, type BatchFileDeps, jobTable, jobTableFile } from '../result-files.ts';
import { sendFile } from '../send-file.ts';
import { endpoint } from './endpoint.ts';
import { getJobEvents } from './job-events.ts';
import { pageOf } from './page.ts';

const callFields = {
  operation: oneOf(QUEUED_NAMES).describe('Operation of the call'),
  params: z
    .record(z.string(), z.unknown(), {
      error: ({ input }) => `${input === undefined ? 'is required: it ' : ''}must be an object of parameters`,
    })
    .meta({ description: 'Parameters of the operation', maxProperties: 200 }),
  maxUnits: integer({ min: 0 })
    .nullable()
    .default(null)
    .meta({ description: 'Refuse the call if it costs more units than this', examples: [100] }),
};

const callBody = exactObject(callFields);

const jobBody = exactObject({
  ...callFields,
  webhook: z
    .unknown()
    .optional()
    .meta({
      type: 'string',
      format: 'uri',
      minLength: 1,
      maxLength: 2000,
      pattern: '^https?://',
      description:
        'An http or https address that receives a delivery when the job has ended; requires a signing secret',
      examples: ['https://example.com/hook'],
    }),
});

const EXAMPLE = { operation: 'market.product', params: { domain: 1, asins: ['B08N5WRWNX'] } };

const createJob = endpoint({
  tag: 'jobs',
  method: 'post',
  path: '/api/jobs',
  act: null,
  scopes: OPERATION_SCOPES,
  startsCalls: true,
  summary: 'Makes a call as a job, and returns the job immediately.',
  body: { description: 'The call', schema: jobBody, example: EXAMPLE },
  answers: {
    202: acceptedJob(
      'The job',
      acceptedSchema,
      ...([
        'X-Job-Id',
        'X-Deduplicated',
        'RateLimit',
        'RateLimit-Policy',
        'Location',
        'Retry-After',
      ] as const),
    ),
  },
  errors: ['SELECTION_INVALID', ...QUOTA_ERRORS, 'RECOVERING', 'LIMIT_REACHED', 'STORAGE_EXCEEDED'],

  async handle(deps: QueuedDeps, { body, request, reply }) {
    const { webhook: _, ...call } = body;
    return answerCall(deps, {
      request,
      reply,
      ...parsedCall(call, deps.clock.now()),
      options: { preference: AT_ONCE, dryRun: false, maxUnits: body.maxUnits },
      webhook: callWebhookOf(deps.webhooks, body),
    });
  },
});

/** A call that returns its job without waiting for its end. */
const AT_ONCE = { async: true, waitMs: 0, applied: null } as const;

const callExample = EXAMPLE;

/** Returns the operation and the canonical input of a call. @throws SoukError VALIDATION_FAILED or SELECTION_INVALID. */
function parsedCall({ operation: name, params }: z.output<typeof callBody>, now: number) {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`there is no operation ${name}`);
  return {
    operation,
    input: inputOn(operation, parseAs(operation.params, params, operation.invalidKind), now),
  };
}

const quoteJob = endpoint({
  tag: 'jobs',
  method: 'post',
  path: '/api/jobs/quote',
  act: null,
  scopes: OPERATION_SCOPES,
  summary: 'Returns the price of a call, and whether it would be accepted, without making the call.',
  body: { description: 'The call', schema: callBody, example: callExample },
  answers: { 200: enveloped('The price of the call', quoteSchema) },
  errors: ['SELECTION_INVALID'],

  async handle(deps: QueuedDeps, { body, request, reply }) {
    return answerCall(deps, {
      request,
      reply,
      ...parsedCall(body, deps.clock.now()),
      options: { preference: AT_ONCE, dryRun: true, maxUnits: body.maxUnits },
      webhook: null,
    });
  },
});

/** The state of calls that corresponds to a state of jobs. */
const CALL_STATES: Record<JobState, Call['state']> = {
  queued: 'reserved',
  running: 'reserved',
  done: 'settled',
  failed: 'released',
  cancelled: 'released',
};

const listJobs = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs',
  tool: 'jobs_list',
  summary: 'Lists the jobs of the last 7 days, newest first.',
  description:
    'Lists the jobs of the last 7 days, newest first. A page may hold fewer jobs than `limit`, or none; on the last page `nextCursor` is null.',
  query: z
    .object({
      state: oneOf(JOB_STATES).optional().describe('Only jobs in this state'),
      operation: oneOf(QUEUED_NAMES).optional().describe('Only jobs of this operation'),
      contains: text({ maxLength: 100 })
        .optional()
        .meta({
          description: 'Only jobs whose parameters contain this text, such as an ASIN, in either case',
          examples: ['B08N5WRWNX'],
        }),
      keyId: integer({ min: 1 }).optional().describe('Only jobs of this key'),
      from: instant().optional().describe('Only jobs accepted at this time or later'),
      to: instant().optional().describe('Only jobs accepted at this time or earlier'),
      limit: integer({ min: 1, max: 100 }).default(50).describe('Jobs per page'),
      cursor: uuidParameter('the last job that the previous page looked at, its `nextCursor`').optional(),
    })
    .refine(isInOrder, NOT_IN_ORDER),
  answers: { 200: enveloped('A page of jobs', pageOf('JobsPage', 'jobs', jobSchema)) },

  async handle(deps: OwnJobDeps & JobViewDeps, { account, query, reply }) {
    const { state, operation, contains, keyId, from, to, limit, cursor } = query;
    const oldest = deps.clock.now() - JOB_LIFETIME_MS;
    const { calls, next } = await listCalls(deps.database, account.accountId, {
      states: state ? [CALL_STATES[state]] : ['reserved', 'settled', 'released'],
      cancelled: state === 'cancelled' || (state === 'failed' ? false : null),
      operation: operation ?? null,
      contains: contains ?? null,
      keyId: keyId ?? null,
      acceptedFrom: from === undefined ? oldest : Math.max(from, oldest),
      acceptedTo: to ?? null,
      before: cursor ?? null,
      limit,
    });
    const jobs = await Promise.all(calls.map((call) => listedJob(deps, call)));
    return sendEnvelope(reply, 200, {
      // The database does not distinguish queued and running calls; only the queue does.
      jobs: jobs.filter((job) => state === undefined || job.state === state),
      nextCursor: next,
    });
  },
});

const getJob = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs/{id}',
  tool: 'jobs_get',
  follows: 'job',
  summary: "Returns a job's status.",
  id: jobId,
  scopes: OWN_JOB_SCOPES,
  query: waitQuery,
  answers: { 200: enveloped('The job', jobSchema, 'X-Job-Id', 'Retry-After') },

  async handle(
    deps: OwnJobDeps & JobViewDeps & { completions: CompletionMap },
    { account, id, query, reply },
  ) {
    return sendJob(deps, reply, await awaitedJob(deps, account, id, query.wait));
  },
});

interface ResultDeps extends OwnJobDeps, JobViewDeps, BatchFileDeps {
  completions: CompletionMap;
  answers: AnswerStore;
  queues: Queues;
  completionChannel: string;
}

/** Schemas of the data of each operation. Pictures are not JSON. */
const results = QUEUED.flatMap(({ name, respond }) =>
  respond.type === 'json' ? [{ ...reference(dataOf(name)) }] : [],
);
const answer = enveloped(
  'The answer',
  { anyOf: results } as never,
  ...(['X-Job-Id', 'X-Cache', 'X-Units-Charged', 'ETag', 'Last-Modified', 'Accept-Ranges'] as const),
);

const getJobResult = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs/{id}/result',
  tool: 'jobs_get_result',
  follows: 'job',
  summary: "Returns a job's result: the answer or the error of its call.",
  id: jobId,
  scopes: OWN_JOB_SCOPES,
  query: waitQuery.extend({
    format: oneOf(['json', ...TABLE_FORMAT_NAMES])
      .optional()
      .describe('json, or a table of the answer; default: that of the header Accept, or as the call asked'),
    table: text({ maxLength: 50 })
      .optional()
      .meta({
        description: 'A table of the operation, with a format other than json',
        examples: ['products'],
      }),
  }),
  answers: {
    200: {
      ...answer,
      content: {
        ...answer.content,
        ...TABLE_CONTENT,
        'image/png': { schema: { type: 'string', format: 'binary' } },
      },
    },
    202: acceptedJob('The job has not ended', jobSchema, 'X-Job-Id', 'Retry-After'),
    ...partialAnswers(),
  },
  errors: [
    'RESULT_EXPIRED',
    'RANGE_NOT_SATISFIABLE',
    'STORAGE_EXCEEDED',
    'PRODUCT_NOT_FOUND',
    'CANCELLED',
    'UPSTREAM_ERROR',
    'UPSTREAM_TIMEOUT',
    'DEADLINE_PASSED',
  ],

  async handle(deps: ResultDeps, { account, id, query, request, reply }) {
    const call = await awaitedJob(deps, account, id, query.wait);
    if (call.error) throw fromRecord(call.error);
    if (call.state === 'reserved') return sendJob(deps, reply, call, 202);
    const stored = await deps.answers.load(id, call.answer ?? OWN_ANSWER);
    if (!stored) return makeAgain(deps, reply, call);
    const cache = stored.meta.fromCache ? 'HIT' : 'MISS';
    const facts = { unitsConsumed: 0, unitsCharged: call.unitsCharged, jobId: id, cache } as const;
    const table = jobTable(call, stored.meta, {
      ...query,
      format: query.format ?? formatOf(request)?.format,
    });
    setFacts(reply, table ? facts : undefined);
    const file = table
      ? jobTableFile(deps, call, stored, table).fileOf(reply)
      : answerFile(reply, stored, facts);
    return sendFile(request, reply, file);
  },
});

/** Returns the error with what is known of the call, so that a client can make it again. */
function expired(
  operation: QueuedOperation | undefined,
  { operation: name, input, unitsReserved }: Call,
): SoukError {
  if (!operation || input === null)
    return new SoukError('RESULT_EXPIRED', { metadata: { operation: name, params: null, units: null } });
  const units = priceAgain(operation, input, unitsReserved);
  const { params } = withFormApart(input);
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

const cancelJob = endpoint({
  tag: 'jobs',
  method: 'delete',
  path: '/api/jobs/{id}',
  act: 'job.cancelled',
  tool: 'jobs_cancel',
  summary: 'Cancels what a job has not sent to the data provider, and releases its units.',
  description:
    'Cancels what a job has not sent to the data provider, and releases its units. What was sent runs to its end, is charged, and its answer is readable. The answer shows the present state of the job; a running job ends a moment later. A job that has ended stays unchanged.',
  id: jobId,
  scopes: OPERATION_SCOPES,
  answers: { 200: enveloped('The job', jobSchema, 'X-Job-Id', 'Retry-After') },
  errors: ['JOB_SHARED'],

  async handle(deps: OwnJobDeps & JobViewDeps & CancelDeps, { account, id, reply }) {
    const call = await ownJob(deps, account, id, 'change');
    if (call.state === 'reserved') await cancel(deps, call);
    return sendJob(deps, reply, await ownJob(deps, account, id));
  },
});

/** Calls by the name of their operation. */
export const CALL_ENDPOINTS = [createJob, quoteJob];

/** Jobs of an account: status, results and cancellation. */
export const JOB_ENDPOINTS = [listJobs, getJob, cancelJob, getJobResult, getJobEvents];
