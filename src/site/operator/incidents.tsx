import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { noticeActs } from '../../operator/acts/notice-acts.ts';
import { COMPONENTS } from '../../operator/status/components.ts';
import { type Incident, readStatus } from '../../operator/status/read-status.ts';
import { SoukError } from '../../platform/errors.ts';
import { Field, PostForm } from '../kit/form.tsx';
import { type FormState, NO_INPUT, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const PATH = '/admin/incidents';

const noteForm = z.object({
  id: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
  text: z
    .string({ error: 'is required' })
    .trim()
    .min(1, 'is required')
    .max(500, 'must have at most 500 characters')
    .regex(/^\P{C}*$/u, 'must not have control characters'),
});

/** Registers the page on which the operator adds notes to the incidents of the status page. */
export function registerIncidents(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, statusBoard } = pages;
  scope.get(PATH, (_request, reply) => show(reply, NO_INPUT));
  scope.post(PATH, onSubmit(noteForm, show, addNote));

  async function addNote({ id, text }: z.output<typeof noteForm>, request: FastifyRequest): Promise<string> {
    if (!(await noticeActs.noteIncident(operatingOf(pages, request), id, text)))
      throw new SoukError('NOT_FOUND', { message: 'This incident does not exist.' });
    await statusBoard.refresh();
    return PATH;
  }

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { incidents } = await readStatus(database, clock.now());
    return sendPage(
      reply,
      <Page title="Incidents">
        <h1>Incidents</h1>
        <p class="lead">
          Found in the failures of calls and requests. Notes are shown on the{' '}
          <a href="/status">status page</a>.
        </p>
        {incidents.length === 0 && <p class="empty card">No incidents in the last 90 days.</p>}
        {incidents.map((incident) => (
          <IncidentCard key={incident.id} incident={incident} form={form} />
        ))}
      </Page>,
      status,
    );
  }
}

function IncidentCard({ incident, form }: { incident: Incident; form: FormState }) {
  const { id, component, level, startedAt, endedAt, notes } = incident;
  return (
    <section class="card">
      <h2>
        {COMPONENTS[component][0]}: {level}
      </h2>
      <p>
        <Time at={startedAt} /> to {endedAt === null ? 'now' : <Time at={endedAt} />}
      </p>
      {notes.map(({ at, text }) => (
        <p key={at}>
          <Time at={at} />: {text}
        </p>
      ))}
      <PostForm action={PATH} form={form.values.id === String(id) ? form : undefined}>
        <input type="hidden" name="id" value={id} />
        <Field name="text" id={`note-${id}`} label="Note" maxLength={500} required />
        <button type="submit">Add note</button>
      </PostForm>
    </section>
  );
}
