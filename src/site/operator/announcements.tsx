import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { noticeActs } from '../../operator/acts/notice-acts.ts';
import {
  type Announcement,
  announcementFields,
  listAnnouncements,
  type NewAnnouncement,
} from '../../operator/announcements.ts';
import { SoukError } from '../../platform/errors.ts';
import { Choice, Field, PostButton, PostForm, TextArea } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, onSubmit, readForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Tag } from '../kit/tag.tsx';
import { Dash, Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const PATH = '/admin/announcements';

const params = z.object({
  id: z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
});

/** Registers the page of announcements: the operator writes and ends them. */
export function registerAnnouncementPage(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, announcements } = pages;
  scope.get(PATH, (_request, reply) => show(reply, NO_INPUT));
  scope.post(PATH, onSubmit(readAnnouncement, show, announce));
  scope.post(`${PATH}/:id/end`, async (request, reply) => {
    const parsed = params.safeParse(request.params);
    const ended =
      parsed.success && (await noticeActs.endAnnouncement(operatingOf(pages, request), parsed.data.id));
    if (!ended)
      throw new SoukError('NOT_FOUND', { message: 'This announcement does not exist or has ended.' });
    await announcements.refresh();
    return reply.redirect(PATH, 303);
  });

  async function announce(fields: NewAnnouncement, request: FastifyRequest): Promise<string> {
    if (!(await noticeActs.announce(operatingOf(pages, request), fields)))
      throw new FormRefused(400, { until: 'must be after the start, and in the future' });
    await announcements.refresh();
    return PATH;
  }

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const list = await listAnnouncements(database);
    return sendPage(
      reply,
      <Page title="Announcements" wide>
        <h1>Announcements</h1>
        <p class="lead">
          Pages show an announcement until it ends or a visitor dismisses it. Other gateways show a change
          within 30 seconds.
        </p>
        <AnnouncementTable list={list} now={clock.now()} />
        <section class="card">
          <h2>New announcement</h2>
          <AnnouncementForm form={form} />
        </section>
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
    <PostForm action={PATH} form={form}>
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
      <button type="submit" class="primary">
        Announce
      </button>
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
              <PostButton action={`${PATH}/${id}/end`} class="small">
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
