import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { noticeActs } from '../../operator/acts/sale-acts.ts';
import {
  type Announcement,
  announcementFields,
  listAnnouncements,
  type NewAnnouncement,
} from '../../operator/announcements.ts';
import { COMPONENTS } from '../../operator/status/incidents.ts';
import { type Incident, readStatus } from '../../operator/status/read-status.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card, Tag } from '../kit/elements.tsx';
import { Choice, Field, PostButton, PostForm, Submit, TextArea } from '../kit/form.tsx';
import { digits, FormRefused, type FormState, NO_INPUT, onSubmit, readForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const ANNOUNCEMENTS = '/admin/announcements';

const params = z.object({ id: digits() });

/** Registers the page of announcements: the operator writes and ends them. */
export function registerAnnouncementPage(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, announcements } = pages;
  scope.get(ANNOUNCEMENTS, (_request, reply) => show(reply, NO_INPUT));
  scope.post(ANNOUNCEMENTS, onSubmit(readAnnouncement, show, announce));
  scope.post(`${ANNOUNCEMENTS}/:id/end`, async (request, reply) => {
    const parsed = params.safeParse(request.params);
    const ended =
      parsed.success && (await noticeActs.endAnnouncement(operatingOf(pages, request), parsed.data.id));
    if (!ended)
      throw new SoukError('NOT_FOUND', { message: 'This announcement does not exist or has ended.' });
    await announcements.refresh();
    return reply.redirect(ANNOUNCEMENTS, 303);
  });

  async function announce(fields: NewAnnouncement, request: FastifyRequest): Promise<string> {
    if (!(await noticeActs.announce(operatingOf(pages, request), fields)))
      throw new FormRefused(400, { until: 'must be after the start, and in the future' });
    await announcements.refresh();
    return ANNOUNCEMENTS;
  }

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const list = await listAnnouncements(database);
    return sendPage(
      reply,
      <Page title="Announcements" wide>
        <p class="lead">
          Pages show an announcement until it ends or a visitor dismisses it. Other gateways show a change
          within 30 seconds.
        </p>
        <AnnouncementTable list={list} now={clock.now()} />
        <Card title="New announcement">
          <AnnouncementForm form={form} />
        </Card>
      </Page>,
      status,
    );
  }
}

/** Browsers send an empty string for an empty start, and text areas send line breaks. */
function readAnnouncement(body: unknown) {
  const { from, text, ...rest } = body as Record<string, unknown>;
  const oneLine = typeof text === 'string' ? text.replace(/\s*[\r\n]+\s*/g, ' ') : text;
  return readForm(announcementFields, { ...rest, text: oneLine, ...(from ? { from } : {}) });
}

function AnnouncementForm({ form }: { form: FormState }): VNode {
  return (
    <PostForm action={ANNOUNCEMENTS} form={form}>
      <TextArea name="text" label="Text" rows={3} hint="At most 500 characters of plain text." />
      <Field name="link" label="Link" hint="Optional, such as https://example.com/news or /docs." />
      <Choice
        name="level"
        label="Level"
        options={[
          ['info', 'Information'],
          ['warning', 'Warning'],
        ]}
      />
      <Choice
        name="audience"
        label="Shown to"
        options={[
          ['everyone', 'Everyone'],
          ['signed-in', 'Signed-in customers and operators'],
        ]}
      />
      <Field name="from" label="From" hint="A time such as 2027-01-31T12:00:00Z. Default: now." />
      <Field name="until" label="Until" required hint="A time such as 2027-01-31T14:00:00Z." />
      <Submit>Announce</Submit>
    </PostForm>
  );
}

function AnnouncementTable({ list, now }: { list: readonly Announcement[]; now: number }): VNode {
  return (
    <Table
      name="Announcements"
      empty="No announcements."
      rows={list}
      columns={[
        ['Text', ({ text }) => <span class="long-text">{text}</span>, 'long'],
        ['Link', ({ link }) => (link ? <a href={link}>{link}</a> : <Dash />)],
        ['Level', ({ level }) => <Tag tone={level === 'warning' ? 'warn' : ''}>{level}</Tag>],
        ['Shown to', ({ audience }) => audience],
        ['From', ({ startsAt }) => <Time at={startsAt} />],
        ['Until', ({ endsAt }) => <Time at={endsAt} />],
        [
          'Action',
          ({ id, endsAt }) =>
            endsAt.getTime() > now ? (
              <PostButton action={`${ANNOUNCEMENTS}/${id}/end`} class="small">
                End now
              </PostButton>
            ) : (
              <Tag>ended</Tag>
            ),
        ],
      ]}
    />
  );
}

const INCIDENTS = '/admin/incidents';

const noteForm = z.object({
  id: digits(),
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
  scope.get(INCIDENTS, (_request, reply) => show(reply, NO_INPUT));
  scope.post(INCIDENTS, onSubmit(noteForm, show, addNote));

  async function addNote({ id, text }: z.output<typeof noteForm>, request: FastifyRequest): Promise<string> {
    if (!(await noticeActs.noteIncident(operatingOf(pages, request), id, text)))
      throw new SoukError('NOT_FOUND', { message: 'This incident does not exist.' });
    await statusBoard.refresh();
    return INCIDENTS;
  }

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const { incidents } = await readStatus(database, clock.now());
    return sendPage(
      reply,
      <Page title="Incidents">
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
    <Card>
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
      <PostForm action={INCIDENTS} form={form.values.id === String(id) ? form : undefined}>
        <input type="hidden" name="id" value={id} />
        <Field name="text" id={`note-${id}`} label="Note" maxLength={500} required />
        <button type="submit">Add note</button>
      </PostForm>
    </Card>
  );
}
