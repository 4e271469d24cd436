import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type FormState, onSubmit } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { addressOf } from '../../kit/paging.tsx';
import { sendPage } from '../../kit/render.tsx';
import { AnswerViewer } from '../answer-viewer.tsx';
import { refusedForm } from '../customer-api.ts';
import { PictureForm } from './picture-form.tsx';
import { type Answered, tryCall } from './try-call.ts';

const PATH = '/account/try/picture';

/** The largest size that the provider draws. */
const SIZE = { width: '1000', height: '500' };

const schema = z.object({
  asin: z.string().optional(),
  domain: z.string().optional(),
  range: z.string().optional(),
});

/** Registers the page that draws a chart of a product's prices. */
export function registerPicture(scope: FastifyInstance): void {
  // Reloading the page of a chart requests this address.
  scope.get(PATH, (_request, reply) => reply.redirect('/account/try', 303));
  scope.post(PATH, onSubmit(schema, showPicture, draw));
}

async function draw(
  values: z.output<typeof schema>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string | FastifyReply> {
  const url = addressOf('/api/market/graphimage', { ...values, ...SIZE });
  const outcome = await tryCall(request, { method: 'GET', url });
  if (outcome.kind === 'accepted') return `/account/jobs/${outcome.jobId}`;
  if (outcome.kind === 'refused')
    throw refusedForm(outcome, (parameter) => (parameter in schema.shape ? parameter : undefined));
  return showPicture(reply, { values, faults: {} }, 200, outcome);
}

function showPicture(
  reply: FastifyReply,
  form: FormState,
  status?: number,
  answer: Answered | null = null,
): FastifyReply {
  const { asin } = form.values;
  return sendPage(
    reply,
    <Page title="Price history" styles={['account.css']} scripts={['answer.js']}>
      <p>
        <a href="/account/try">Other calls</a>
      </p>
      <h1>Price history{asin && ` of ${asin}`}</h1>
      {answer !== null && answer.jobId !== null && (
        <AnswerViewer jobId={answer.jobId} isPicture={answer.isPicture} />
      )}
      <PictureForm form={form} />
    </Page>,
    status,
  );
}
