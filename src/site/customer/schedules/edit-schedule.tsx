import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ScheduleView } from '../../../batches/schedules/view.ts';
import type { FormFaults, FormValues } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.ts';
import { counted } from '../../kit/words.tsx';
import { callApi, dataOf, faultsIn } from '../../own-api.ts';
import type { Pages } from '../../pages.ts';
import { customerOf, viewerOf } from '../../session.ts';
import { faultsByField, WORK_FIELDS } from '../work/work.ts';
import { WORK_FORM_BYTES } from '../work/work-fields.tsx';
import { SCHEDULE_FIELDS, type ScheduleCheck, ScheduleForm } from './schedule-form.tsx';
import { readScheduleForm, runsToCome } from './schedule-request.ts';

const NEW = '/account/schedules/new';
const EDIT = '/account/schedules/:id/edit';

/** Making and changing schedules: their next runs and their price, and then saving them. */
export function registerEditSchedule(scope: FastifyInstance, { app, gateway }: Pages): void {
  scope.get(NEW, (request, reply) => sendForm(request, reply, null, {}));

  scope.post(NEW, { bodyLimit: WORK_FORM_BYTES }, (request, reply) => save(request, reply, null));

  scope.get(EDIT, async (request, reply) => {
    const present = await ownSchedule(request);
    return sendForm(request, reply, present, { values: valuesOf(present) });
  });

  scope.post(EDIT, { bodyLimit: WORK_FORM_BYTES }, async (request, reply) =>
    save(request, reply, await ownSchedule(request)),
  );

  async function save(
    request: FastifyRequest,
    reply: FastifyReply,
    present: ScheduleView | null,
  ): Promise<FastifyReply> {
    const form = readScheduleForm(request.body, present !== null);
    const { values } = form;
    const nextRuns = runsToCome(values, gateway.clock.now());
    const check = nextRuns && { nextRuns, price: null };
    if (!form.ok) return sendForm(request, reply, present, { ...form, check, status: 400 });
    const isQuestion = values.intent !== 'save';
    const path = present ? `/api/schedules/${present.scheduleId}` : '/api/schedules';
    const query = isQuestion ? '?dryRun=1' : '';
    const method = present ? 'PATCH' : 'POST';
    const answer = await callApi(callerOf(request), method, `${path}${query}`, form.body);
    if (answer.status >= 400) {
      const found = faultsIn(answer);
      const faults =
        found.length > 0
          ? faultsByField(found, [...WORK_FIELDS, ...SCHEDULE_FIELDS])
          : { '': answer.envelope.msg };
      return sendForm(request, reply, present, { values, faults, check, status: answer.status });
    }
    const schedule = dataOf<ScheduleView>(answer);
    if (isQuestion)
      return sendForm(request, reply, present, {
        values,
        check: { nextRuns: nextRuns ?? [], price: schedule },
      });
    return reply.redirect(`/account/schedules/${schedule.scheduleId}`, 303);
  }

  async function ownSchedule(request: FastifyRequest): Promise<ScheduleView> {
    const { id } = request.params as { id: string };
    return dataOf(await callApi(callerOf(request), 'GET', `/api/schedules/${encodeURIComponent(id)}`));
  }

  function callerOf(request: FastifyRequest) {
    return { app, apiKey: customerOf(request).apiKey };
  }
}

function sendForm(
  request: FastifyRequest,
  reply: FastifyReply,
  present: ScheduleView | null,
  {
    values = {},
    faults = {},
    check = null,
    status = 200,
  }: { values?: FormValues; faults?: FormFaults; check?: ScheduleCheck | null; status?: number },
): FastifyReply {
  const title = present ? `Change ${present.name}` : 'New schedule';
  return sendPage(
    reply,
    <Page title={title} viewer={viewerOf(request, reply)} path="/account/schedules" styles={['account.css']}>
      <h1>{title}</h1>
      <ScheduleForm
        action={present ? `/account/schedules/${present.scheduleId}/edit` : NEW}
        csrf={reply.generateCsrf()}
        values={values}
        faults={faults}
        check={check}
        {...(present ? { keeps: keepsText(present) } : {})}
      />
    </Page>,
    status,
  );
}

function keepsText({ items, operation }: ScheduleView): string {
  return `It has ${counted(items, 'item')} of ${operation}. Left empty they stay, and so do units and webhook.`;
}

function valuesOf(schedule: ScheduleView): FormValues {
  const { name, cron, timezone, window, onlyChanges, runHours, maxUnits, webhook, operation } = schedule;
  return {
    ...{ name, cron, timezone, window, operation },
    onlyChanges: String(onlyChanges),
    runHours: String(runHours),
    maxUnits: maxUnits === null ? '' : String(maxUnits),
    webhook: webhook ?? '',
  };
}
