import { z } from 'zod';
import { OPERATION_SCOPES } from '../../../accounts/scopes.ts';
import { inputOn } from '../../../operations/define.ts';
import { QUEUED_NAMES, queuedOperation } from '../../../operations/index.ts';
import { integer, oneOf } from '../../../operations/params/scalars.ts';
import { acceptedSchema } from '../../job-view.ts';
import { acceptedJob, QUOTA_ERRORS } from '../../openapi/responses.ts';
import { callWebhookOf } from '../../operations/call-webhook.ts';
import { answerCall, type QueuedDeps } from '../../operations/serve-queued.ts';
import { parseAs } from '../../request-input.ts';
import { endpoint } from '../endpoint.ts';

export const callBody = z.strictObject(
  {
    operation: oneOf(QUEUED_NAMES).describe('Operation of the call'),
    params: z
      .record(z.string(), z.unknown(), 'must be an object of parameters')
      .meta({ description: 'Parameters of the operation', maxProperties: 200 }),
    maxUnits: integer({ min: 0 })
      .nullable()
      .default(null)
      .meta({ description: 'Refuse the call if it costs more units than this', examples: [100] }),
  },
  'must be a JSON object',
);

const jobBody = callBody.extend({
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

export const createJob = endpoint({
  tag: 'jobs',
  method: 'post',
  path: '/api/jobs',
  scopes: OPERATION_SCOPES,
  startsCalls: true,
  summary: 'Makes a call as a job, and returns the job at once.',
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
  errors: ['SELECTION_INVALID', ...QUOTA_ERRORS, 'LIMIT_REACHED', 'STORAGE_EXCEEDED'],

  async handle(deps: QueuedDeps, { body, request, reply }) {
    const { webhook: _, ...call } = body;
    return answerCall(deps, {
      ...{ request, reply, ...parsedCall(call, deps.clock.now()) },
      options: { preference: AT_ONCE, dryRun: false, maxUnits: body.maxUnits },
      webhook: callWebhookOf(deps.webhooks, body),
    });
  },
});

/** A call that returns its job without waiting for its end. */
export const AT_ONCE = { async: true, waitMs: 0, applied: null } as const;

export const callExample = EXAMPLE;

/** Returns the operation and the canonical input of a call. @throws SoukError VALIDATION_FAILED or SELECTION_INVALID. */
export function parsedCall({ operation: name, params }: z.output<typeof callBody>, now: number) {
  const operation = queuedOperation(name);
  if (!operation) throw new Error(`there is no operation ${name}`);
  return {
    operation,
    input: inputOn(operation, parseAs(operation.params, params, operation.invalidKind), now),
  };
}
