import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BatchView } from '../../../batches/view.ts';
import { type FormState, type FormValues, NO_INPUT, onSubmit } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { BATCH_FORM_BYTES, fieldsOf, readBatchForm } from '../batch-items/batch-items-form.ts';
import { callApi, dataOf, refusedForm } from '../customer-api.ts';
import { BatchForm, type BatchQuote, batchForm } from './batch-form.tsx';

const PATH = '/account/batches/new';

/** Registers the form that shows the price of a batch and starts it. */
export function registerNewBatch(scope: FastifyInstance): void {
  scope.get(PATH, async (_request, reply) => showForm(reply, NO_INPUT));
  scope.post(PATH, { bodyLimit: BATCH_FORM_BYTES }, onSubmit(readBatch, showForm, submitBatch));
}

function readBatch(body: unknown) {
  return readBatchForm(batchForm, body);
}

type BatchInput = Extract<ReturnType<typeof readBatch>, { ok: true }>['input'];

/** Starts the batch, or shows its price. */
async function submitBatch(
  { batchItems, ...settings }: BatchInput,
  request: FastifyRequest,
  reply: FastifyReply,
  values: FormValues,
): Promise<string | FastifyReply> {
  const isStart = values.intent === 'start';
  const { idempotencyKey } = values;
  const body = { ...settings, ...batchItems, ...(idempotencyKey ? { idempotencyKey } : {}) };
  const answer = await callApi(request, 'POST', `/api/batches${isStart ? '' : '?dryRun=1'}`, body);
  if (answer.status >= 400) throw refusedForm(answer, fieldsOf(batchForm));
  if (isStart) return `/account/batches/${dataOf<BatchView>(answer).batchId}`;
  return showForm(reply, { values, faults: {} }, 200, dataOf<BatchQuote>(answer));
}

function showForm(
  reply: FastifyReply,
  form: FormState,
  status?: number,
  quote: BatchQuote | null = null,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="New batch" styles={['account.css']}>
      <h1>New batch</h1>
      <BatchForm form={form} quote={quote} />
    </Page>,
    status,
  );
}
