import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TrackerView } from '../../../batches/trackers/view.ts';
import { type FormState, type FormValues, NO_INPUT, onSubmit } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { BATCH_FORM_BYTES } from '../batch-items/batch-items-form.ts';
import { apiData, callApi, dataOf, idIn, refusedForm } from '../customer-api.ts';
import { TrackerForm } from './tracker-form.tsx';
import { fieldOf, type TrackerInput, trackerBody, trackerForm } from './tracker-request.ts';
import { valuesOf } from './tracker-values.ts';

const LIST = '/account/trackers';
const NEW = `${LIST}/new`;
const EDIT = `${LIST}/:id/edit`;

/** Registers the forms that create and change trackers, and show their price before saving. */
export function registerEditTracker(scope: FastifyInstance): void {
  scope.get(NEW, async (_request, reply) => sendForm(reply, null, NO_INPUT));
  scope.get(EDIT, async (request, reply) => {
    const present = await presentTracker(request);
    return sendForm(reply, present, { values: present ? valuesOf(present) : {}, faults: {} });
  });
  for (const path of [NEW, EDIT])
    scope.post(path, { bodyLimit: BATCH_FORM_BYTES }, onSubmit(trackerForm, showAgain, submit));
}

/** Saves the tracker, or shows its next checks and price. */
async function submit(
  input: TrackerInput,
  request: FastifyRequest,
  reply: FastifyReply,
  values: FormValues,
): Promise<string | FastifyReply> {
  const isSave = values.intent === 'save';
  const present = await presentTracker(request);
  const [method, url] = present
    ? (['PATCH', `/api/trackers/${present.trackerId}`] as const)
    : (['POST', '/api/trackers'] as const);
  const body = trackerBody(input, values, present);
  const answer = await callApi(request, method, isSave ? url : `${url}?dryRun=1`, body);
  if (answer.status >= 400) throw refusedForm(answer, (parameter) => fieldOf(parameter, values));
  const tracker = dataOf<TrackerView>(answer);
  if (isSave) return `${LIST}/${tracker.trackerId}`;
  return sendForm(reply, present, { values, faults: {} }, 200, tracker);
}

async function showAgain(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
  return sendForm(reply, await presentTracker(reply.request), form, status);
}

/** The tracker that is changed; null for a new one. */
async function presentTracker(request: FastifyRequest): Promise<TrackerView | null> {
  const { id } = request.params as { id?: string };
  return id === undefined ? null : apiData<TrackerView>(request, 'GET', `/api/trackers/${idIn(request)}`);
}

function sendForm(
  reply: FastifyReply,
  present: TrackerView | null,
  form: FormState,
  status?: number,
  quote: TrackerView | null = null,
): FastifyReply {
  const title = present ? `Edit ${present.name}` : 'New tracker';
  const action = present ? `${LIST}/${present.trackerId}/edit` : NEW;
  return sendPage(
    reply,
    <Page title={title} styles={['account.css']}>
      <h1>{title}</h1>
      <TrackerForm action={action} form={form} quote={quote} present={present} />
    </Page>,
    status,
  );
}
