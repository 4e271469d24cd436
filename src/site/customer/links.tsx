import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import type { LinkView, NewLinkView } from '../../api/endpoints/files.ts';
import { TABLE_FORMAT_NAMES } from '../../operations/tables/formats.ts';
import type { LinkTarget } from '../../results/result-links.ts';
import { Card, NewSecret } from '../kit/elements.tsx';
import { Choice, HiddenFields, PostButton, PostForm } from '../kit/form.tsx';
import { readValues } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, Time } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { apiData, idIn } from './customer-api.ts';

const PATH = '/account/links';

/** The pages of the targets of links. Files are results of jobs. */
const TARGET_PAGES: Readonly<Record<LinkTarget, string>> = {
  job: '/account/jobs',
  file: '/account/jobs',
  batch: '/account/batches',
};

/** Registers what creates a link to a result and shows it once, and what revokes one. */
export function registerLinks(scope: FastifyInstance, pages: Pages): void {
  scope.post(PATH, async (request, reply) => {
    const { target, id, format, hours, back } = readValues(request.body);
    const [form, table] = (format ?? '').split('.').reverse();
    const body = { target, id, hours: Number(hours), format: form || undefined, table };
    const link = await apiData<NewLinkView>(request, 'POST', '/api/links', body);
    return sendNewLink(
      reply,
      `${baseUrlOf(pages, request)}${new URL(link.url).pathname}`,
      [`${TARGET_PAGES[link.target]}/${back ?? link.targetId}`, 'Back to the result'],
      <>
        Anyone who has the link can read <code>{link.name}</code> until <Time at={link.expiresAt} />, and
        nothing else. Google Sheets, Excel and DuckDB open the link without a key.
      </>,
    );
  });
  scope.post(`${PATH}/:id/revoke`, async (request, reply) => {
    const { back } = readValues(request.body);
    const { target, targetId } = await apiData<LinkView>(request, 'DELETE', `/api/links/${idIn(request)}`);
    return reply.redirect(`${TARGET_PAGES[target]}/${encodeURIComponent(back ?? targetId)}`, 303);
  });
}

/** Sends the page that shows the address of a new link once. @param text says what the link opens. */
export function sendNewLink(
  reply: FastifyReply,
  address: string,
  back: readonly [href: string, text: string],
  text: ComponentChildren,
): FastifyReply {
  return sendPage(
    reply,
    <Page title="Link created" back={back} styles={['account.css']}>
      <Card>
        <NewSecret id="new-link" text={address} />
        <p>{text}</p>
      </Card>
    </Page>,
  );
}

/** Returns the links to a result. */
export async function linksTo(request: FastifyRequest, targetId: string): Promise<readonly LinkView[]> {
  return (await apiData<{ links: LinkView[] }>(request, 'GET', `/api/links?id=${targetId}`)).links;
}

const DURATIONS = [
  ['1', 'an hour'],
  ['24', 'a day'],
  ['168', 'a week'],
] as const;

/** The forms of a link to results: each table as a file, and whole answers, of a job as its call asked. */
function linkFormats(target: LinkTarget, tables: readonly string[]): [value: string, text: string][] {
  const files = tables.flatMap((table) =>
    TABLE_FORMAT_NAMES.map((format): [string, string] => [`${table}.${format}`, `${table}, ${format}`]),
  );
  return target === 'job'
    ? [['', 'the whole answer'], ...files]
    : [...files, ['ndjson', 'whole answers, ndjson']];
}

/** The links to a result, and the form that creates one. @param props.back the job on whose page a file is shown. */
export function ResultLinks(props: {
  target: LinkTarget;
  id: string;
  links: readonly LinkView[];
  /** The tables of the result. */
  tables?: readonly string[];
  back?: string;
}): VNode {
  const { target, id, links, tables = [], back = id } = props;
  return (
    <>
      <h2 id="links">Links</h2>
      <p class="hint">A link opens this result without a key until it ends or you revoke it.</p>
      {links.length > 0 && (
        <Table
          name="Links"
          rows={links}
          empty="No links."
          columns={[
            ['File', ({ name }) => name],
            ['Ends', ({ expiresAt }) => <Time at={expiresAt} />],
            ['Downloads', ({ opens }) => count(opens), 'number'],
            ['Last download', ({ lastOpenedAt }) => <Time at={lastOpenedAt} />],
            [
              'Revoke',
              ({ linkId }) => (
                <PostButton action={`${PATH}/${linkId}/revoke`} class="small danger" fields={{ back }}>
                  Revoke
                </PostButton>
              ),
            ],
          ]}
        />
      )}
      <PostForm action={PATH} class="inline">
        <HiddenFields fields={{ target, id, back }} />
        <Choice name="hours" label="Works for" options={DURATIONS} preset="24" />
        {tables.length > 0 && <Choice name="format" label="Format" options={linkFormats(target, tables)} />}
        <button type="submit">Create link</button>
      </PostForm>
    </>
  );
}
