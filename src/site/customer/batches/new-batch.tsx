import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v7 as uuid } from 'uuid';
import type { BatchView } from '../../../batches/view.ts';
import type { FormFaults, FormValues } from '../../kit/form.tsx';
import { readForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.ts';
import { callApi, dataOf, faultsIn } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { faultsByField, readWork, WORK_FIELDS } from '../work/work.ts';
import { WORK_FORM_BYTES } from '../work/work-fields.tsx';
import { BATCH_FIELDS, BatchForm, type BatchQuote, batchForm } from './batch-form.tsx';

const PATH = '/account/batches/new';

/** Making a batch: what it will cost, and its start. */
export function registerNewBatch(scope: FastifyInstance, { app }: Pages): void {
  scope.get(PATH, (request, reply) => sendForm(request, reply, {}));

  scope.post(PATH, { bodyLimit: WORK_FORM_BYTES }, async (request, reply) => {
    const form = readForm(batchForm, request.body);
    const read = readWork(form.values);
    const faults = { ...(form.ok ? {} : form.faults), ...(read.ok ? {} : read.faults) };
    if (!form.ok || !read.ok) return sendForm(request, reply, { values: form.values, faults, status: 400 });
    const isQuestion = form.values.intent !== 'start';
    const { idempotencyKey } = form.values;
    const body = { ...form.input, ...read.work, ...(idempotencyKey ? { idempotencyKey } : {}) };
    const caller = { app, apiKey: customerOf(request).apiKey };
    const answer = await callApi(caller, 'POST', `/api/batches${isQuestion ? '?dryRun=1' : ''}`, body);
    if (answer.status >= 400) {
      const found = faultsIn(answer);
      return sendForm(request, reply, {
        values: form.values,
        faults:
          found.length > 0
            ? faultsByField(found, [...WORK_FIELDS, ...BATCH_FIELDS])
            : { '': answer.envelope.msg },
        status: answer.status,
      });
    }
    if (isQuestion)
      return sendForm(request, reply, { values: form.values, quote: dataOf<BatchQuote>(answer) });
    return reply.redirect(`/account/batches/${dataOf<BatchView>(answer).batchId}`, 303);
  });

  function sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    {
      values = {},
      faults = {},
      quote = null,
      status = 200,
    }: { values?: FormValues; faults?: FormFaults; quote?: BatchQuote | null; status?: number },
  ): FastifyReply {
    return sendPage(
      reply,
      <Page
        title="New batch"
        viewer={viewerOf(request, reply)}
        path="/account/batches"
        styles={['account.css']}
      >
        <h1>New batch</h1>
        <BatchForm
          csrf={reply.generateCsrf()}
          idempotencyKey={uuid()}
          values={values}
          faults={faults}
          quote={quote}
        />
      </Page>,
      status,
    );
  }
}
