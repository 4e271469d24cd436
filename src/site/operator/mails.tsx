import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { findMessage, type LoggedAttempt, listMessages, type Message } from '../../outbox/log.ts';
import { kindNamed } from '../../outbox/mail/kinds/index.ts';
import { MAIL_STATES, mailText } from '../../outbox/mail/mails.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card, Facts, ToneTag } from '../kit/elements.tsx';
import { FilterForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { ListPage, pageOf, StateChoice } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';

const PATH = '/admin/mails';

const MAILS_A_PAGE = 50;
const MAILS = { channel: 'mail', accountId: null } as const;

const STATES = {
  pending: ['busy', 'Pending'],
  sent: ['good', 'Sent'],
  delivered: ['good', 'Delivered'],
  failed: ['bad', 'Failed'],
  not_sent: ['', 'Not sent'],
} as const;

const LEADS = {
  sent: 'Mails to customers, the newest first.',
  shown: 'No mail server is configured, so mails are shown here with their links, and none are sent.',
  none: 'No mail server is configured, so no mails are sent.',
} as const;

const filter = z.object({
  state: z.enum(MAIL_STATES).nullable().catch(null),
  before: z.uuid().nullable().catch(null),
});

/** Registers the pages of mails to customers. */
export function registerMails(scope: FastifyInstance, pages: Pages): void {
  const { database, mail: way, secretBox } = pages;
  scope.get(PATH, showList);
  scope.get(`${PATH}/:id`, showMail);

  async function showList(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { state, before } = filter.parse(request.query);
    const found = await listMessages(database, MAILS, { state, before, limit: MAILS_A_PAGE + 1 });
    const query = { state: state ?? undefined, before: before ?? undefined };
    const list = pageOf(found, MAILS_A_PAGE, query, ({ id }) => id);
    const form = (
      <FilterForm path={PATH} values={query}>
        <StateChoice states={MAIL_STATES} />
      </FilterForm>
    );
    return sendPage(
      reply,
      <ListPage
        title="Mails"
        lead={LEADS[way]}
        styles={[]}
        filter={form}
        path={PATH}
        list={list}
        cursor="before"
      >
        <MailTable rows={list.items} />
      </ListPage>,
    );
  }

  async function showMail(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const id = z.uuid().safeParse((request.params as { id: string }).id);
    const mail = id.success ? await findMessage(database, MAILS, id.data) : null;
    if (!mail) throw new SoukError('NOT_FOUND', { message: 'There is no such mail. Old mails are deleted.' });
    // Where no mails are sent, the texts have links that set the passwords of others.
    const mayRead = way !== 'shown' || request.staff?.role === 'operator';
    const text = mayRead ? mailText(mail, { secretBox, publicUrl: baseUrlOf(pages, request) }) : null;
    return sendPage(
      reply,
      <Page title="Mail" heading={nameOf(mail)} path={PATH}>
        <Card>
          <MailFacts mail={mail} />
          {mail.log.length > 0 && <Attempts rows={mail.log} />}
        </Card>
        {text === null ? (
          <p class="hint">
            {mayRead
              ? 'The text has a link with a token, which exists only while the mail is sent.'
              : 'Only operators read the texts of mails that are not sent, because their links work.'}
          </p>
        ) : (
          <pre class="wrap">{text}</pre>
        )}
      </Page>,
    );
  }
}

function MailFacts({ mail }: { mail: Message }): VNode {
  return (
    <Facts
      facts={[
        ['To', <Recipient key="to" mail={mail} />],
        ['State', <ToneTag key="state" of={STATES[mail.state]} />],
        ['Attempts', mail.attempts],
        mail.lastError !== null && ['Reason', mail.lastError],
        ['Created', <Time key="created" at={mail.createdAt} />],
        mail.nextAttemptAt !== null && ['Next attempt', <Time key="next" at={mail.nextAttemptAt} />],
        mail.finishedAt !== null && ['Ended', <Time key="ended" at={mail.finishedAt} />],
      ]}
    />
  );
}

const Attempts = tableOf<LoggedAttempt>('Attempts', 'No attempts.', [
  ['Attempt', ({ attempt }) => attempt, 'number'],
  ['Time', ({ at }) => <Time at={at} />],
  ['Result', ({ error }) => error ?? 'The mail server accepted the mail.', 'long'],
]);

const MailTable = tableOf<Message>('Mails', 'No mails.', [
  ['Created', ({ createdAt }) => <Time at={createdAt} />],
  ['Kind', (mail) => <a href={`${PATH}/${mail.id}`}>{nameOf(mail)}</a>],
  ['To', (mail) => <Recipient mail={mail} />],
  ['State', ({ state }) => <ToneTag of={STATES[state]} />],
  ['Attempts', ({ attempts }) => attempts, 'number'],
  ['Reason', ({ lastError }) => lastError, 'long'],
]);

function Recipient({ mail: { accountId, recipient } }: { mail: Message }): VNode | string {
  return accountId === null ? recipient : <a href={`/admin/accounts/${accountId}`}>{recipient}</a>;
}

function nameOf({ kind }: Message): string {
  return kindNamed(kind)?.name ?? kind;
}
