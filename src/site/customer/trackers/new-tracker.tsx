import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { type FormState, type FormValues, NO_INPUT, onSubmit } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { BATCH_FORM_BYTES } from '../batch-items/batch-items-form.ts';
import { callApi, dataOf, refusedForm } from '../customer-api.ts';
import { TrackerForm } from './tracker-form.tsx';
import { fieldOf, type TrackerInput, trackerBody, trackerForm } from './tracker-request.ts';

const LIST = '/account/trackers';
const NEW = `${LIST}/new`;

/** Registers the form that shows the price of a tracker and creates it. */
export function registerNewTracker(scope: FastifyInstance): void {
  scope.get(NEW, async (_request, reply) => showForm(reply, NO_INPUT));
  scope.post(NEW, { bodyLimit: BATCH_FORM_BYTES }, onSubmit(trackerForm, showForm, submit));
}

/** Creates the tracker, or shows its next looks and price. */
async function submit(
  input: TrackerInput,
  request: FastifyRequest,
  reply: FastifyReply,
  values: FormValues,
): Promise<string | FastifyReply> {
  const isSave = values.intent === 'save';
  const url = isSave ? '/api/trackers' : '/api/trackers/quote';
  const answer = await callApi(request, 'POST', url, trackerBody(input, values));
  if (answer.status >= 400) throw refusedForm(answer, (parameter) => fieldOf(parameter, values));
  const tracker = dataOf<TrackerView>(answer);
  if (isSave) return `${LIST}/${tracker.trackerId}`;
  return showForm(reply, { values, faults: {} }, 200, tracker);
}

function showForm(
  reply: FastifyReply,
  form: FormState,
  status?: number,
  quote: TrackerView | null = null,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="New tracker" styles={['account.css']}>
      <h1>New tracker</h1>
      <TrackerForm action={NEW} form={form} quote={quote} />
    </Page>,
    status,
  );
}
