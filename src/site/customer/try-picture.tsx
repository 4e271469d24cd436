import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { SITES } from '../../operations/params/domain.ts';
import { ANSWER, Card } from '../kit/elements.tsx';
import { Choice, Field, PostForm, Submit } from '../kit/form.tsx';
import { type FormState, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { refusedForm } from './customer-api.ts';
import { AnswerViewer } from './job-page.tsx';
import { type Answered, tryCall } from './try-request.ts';

const PATH = '/account/try/picture';

/** The largest size that the provider draws. */
const SIZE = { width: '1000', height: '500' };

const pictureForm = z.object({
  asin: z.string().optional(),
  domain: z.string().optional(),
  range: z.string().optional(),
});

/** Registers the page that draws a chart of a product's prices. */
export function registerPicture(scope: FastifyInstance): void {
  // Reloading the page of a chart requests this address.
  scope.get(PATH, (_request, reply) => reply.redirect('/account/try', 303));
  scope.post(PATH, onSubmit(pictureForm, showPicture, draw));
}

async function draw(values: z.output<typeof pictureForm>, request: FastifyRequest, reply: FastifyReply) {
  const url = addressOf('/api/market/graphimage', { ...values, ...SIZE });
  const outcome = await tryCall(request, { method: 'GET', url });
  if (outcome.kind === 'accepted') return `/account/jobs/${outcome.jobId}`;
  if (outcome.kind === 'refused')
    throw refusedForm(outcome, (parameter) => (parameter in pictureForm.shape ? parameter : undefined));
  return showPicture(reply, { values, faults: {} }, 200, outcome);
}

function showPicture(reply: FastifyReply, form: FormState, status?: number, answer: Answered | null = null) {
  const { asin } = form.values;
  return sendPage(
    reply,
    <Page
      title="Price history"
      back={['/account/try', 'Other calls']}
      heading={<>Price history{asin && ` of ${asin}`}</>}
      styles={['account.css']}
      scripts={['answer.js']}
    >
      {answer !== null && answer.jobId !== null && (
        <div {...ANSWER}>
          <AnswerViewer jobId={answer.jobId} isPicture={answer.isPicture} />
        </div>
      )}
      <PictureForm form={form} />
    </Page>,
    status,
  );
}

const RANGES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const;

/** The form that requests a chart of a product's prices. */
export function PictureForm({ form }: { form: FormState }): VNode {
  return (
    <Card id="price-history" title="Price history of a product">
      <PostForm action="/account/try/picture" form={form} class="filters">
        <Field name="asin" label="ASIN" required placeholder="B08N5WRWNX" maxLength={20} />
        <Choice name="domain" label="Site" options={Object.entries(SITES)} />
        <Choice name="range" label="Period" preset="90" options={RANGES} />
        <Submit>Draw the chart (1 unit)</Submit>
      </PostForm>
    </Card>
  );
}
