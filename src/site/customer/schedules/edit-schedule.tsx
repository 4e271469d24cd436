import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ScheduleView } from '../../../batches/schedules/view.ts';
import { type FormState, type FormValues, onSubmit, readValues } from '../../kit/form-request.ts';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { counted } from '../../kit/words.tsx';
import type { Pages } from '../../pages.ts';
import { BATCH_FORM_BYTES, fieldsOf } from '../batch-items/batch-items-form.ts';
import { apiData, callApi, dataOf, idIn, refusedForm } from '../customer-api.ts';
import { type ScheduleCheck, ScheduleForm, type SchedulePrice } from './schedule-form.tsx';
import { nextRunsOf, readScheduleForm, scheduleBody, scheduleForm, valuesOf } from './schedule-request.ts';

const LIST = '/account/schedules';
const NEW = `${LIST}/new`;
const EDIT = `${LIST}/:id/edit`;

type ScheduleInput = Parameters<typeof scheduleBody>[0];

/** Registers the forms that create and change schedules, and show their next runs and price before saving. */
export function registerEditSchedule(scope: FastifyInstance, { clock }: Pages): void {
  // The pages with data link here with the fields of what they show.
  scope.get(NEW, async ({ query }, reply) =>
    sendForm(reply, null, { values: readValues(query), faults: {} }),
  );
  scope.get(EDIT, async (request, reply) => {
    const present = await presentSchedule(request);
    return sendForm(reply, present, { values: present ? valuesOf(present) : {}, faults: {} });
  });
  const options = { bodyLimit: BATCH_FORM_BYTES };
  scope.post(
    NEW,
    options,
    onSubmit((body) => readScheduleForm(body, false), showAgain, submit),
  );
  scope.post(
    EDIT,
    options,
    onSubmit((body) => readScheduleForm(body, true), showAgain, submit),
  );

  /** Saves the schedule, or shows its next runs and price. */
  async function submit(
    input: ScheduleInput,
    request: FastifyRequest,
    reply: FastifyReply,
    values: FormValues,
  ): Promise<string | FastifyReply> {
    const isSave = values.intent === 'save';
    const query = isSave ? '' : '?dryRun=1';
    const [method, url] = isNew(request)
      ? (['POST', '/api/schedules'] as const)
      : (['PATCH', `/api/schedules/${idIn(request)}`] as const);
    const answer = await callApi(request, method, `${url}${query}`, scheduleBody(input));
    if (answer.status >= 400) throw refusedForm(answer, fieldsOf(scheduleForm));
    const schedule = dataOf<ScheduleView>(answer);
    if (isSave) return `${LIST}/${schedule.scheduleId}`;
    return showAgain(reply, { values, faults: {} }, 200, schedule);
  }

  async function showAgain(
    reply: FastifyReply,
    form: FormState,
    status?: number,
    price: SchedulePrice | null = null,
  ): Promise<FastifyReply> {
    const nextRuns = nextRunsOf(form.values, clock.now());
    const check = nextRuns && { nextRuns, price };
    return sendForm(reply, await presentSchedule(reply.request), form, check, status);
  }
}

function isNew({ params }: FastifyRequest): boolean {
  return (params as { id?: string }).id === undefined;
}

/** The schedule that is changed; null for a new one. */
async function presentSchedule(request: FastifyRequest): Promise<ScheduleView | null> {
  return isNew(request) ? null : apiData<ScheduleView>(request, 'GET', `/api/schedules/${idIn(request)}`);
}

function sendForm(
  reply: FastifyReply,
  present: ScheduleView | null,
  form: FormState,
  check: ScheduleCheck | null = null,
  status?: number,
): FastifyReply {
  const title = present ? `Edit ${present.name}` : 'New schedule';
  return sendPage(
    reply,
    <Page title={title} styles={['account.css']}>
      <h1>{title}</h1>
      <ScheduleForm
        action={present ? `${LIST}/${present.scheduleId}/edit` : NEW}
        form={form}
        check={check}
        keeps={present ? keepsText(present) : undefined}
      />
    </Page>,
    status,
  );
}

function keepsText({ items, operation }: ScheduleView): string {
  return `This schedule has ${counted(items, 'item')} of ${operation}. Leave the items empty to keep them, the unit limit and the webhook.`;
}
