import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { SoukError } from '../../../platform/errors.ts';
import {
  type ChartLink,
  chartOfToken,
  createChartLink,
  listChartLinks,
  MOST_CHART_LINKS,
  revokeChartLink,
} from '../../../results/chart-links.ts';
import { ANSWER, Card, Secret } from '../../kit/elements.tsx';
import { Choice, HiddenFields, PostButton, PostForm } from '../../kit/form.tsx';
import { Page } from '../../kit/layout.tsx';
import { sendPage } from '../../kit/render.tsx';
import { Table } from '../../kit/table.tsx';
import { CHART_FILES } from '../../kit/time-chart.tsx';
import { VISITOR } from '../../kit/viewer.ts';
import { Time } from '../../kit/words.tsx';
import { noteActs } from '../../page-acts.ts';
import { baseUrlOf, type Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { type Snapshot, SnapshotFigures, Sources } from './snapshot.tsx';
import type { CardPlace } from './view-card.tsx';

const LIST_PATH = '/account/charts';

const PUBLIC_PATH = '/charts';

const DURATIONS = [
  ['1', 'a day'],
  ['7', 'a week'],
  ['30', 'a month'],
  ['90', '3 months'],
  ['365', 'a year'],
] as const;

/** The form that creates a link to what a view shows. */
export function ShareForm({ name, place }: { name: string; place: CardPlace }): VNode {
  return (
    <details>
      <summary>Share this chart by a link</summary>
      <p class="hint">
        The link shows the chart and its figures as they are now, without an account, until it ends or you
        revoke it. <a href={LIST_PATH}>Shared charts</a>
      </p>
      <PostForm action={place.path} class="inline">
        <HiddenFields fields={{ ...place.query, view: name, intent: 'share' }} />
        <Choice id={`share-${name}`} name="linkDays" label="Works for" options={DURATIONS} preset="7" />
        <button type="submit">Create link</button>
      </PostForm>
    </details>
  );
}

/** A snapshot, and when its call was made. */
type SharedChart = Snapshot & { asOf: string };

/** Creates a link to a snapshot, and shows its address once. */
export async function shareChart(
  pages: Pages,
  reply: FastifyReply,
  { snapshot, days, back }: { snapshot: SharedChart; days: string | undefined; back: string },
): Promise<FastifyReply> {
  const { request } = reply;
  const { database, clock } = pages;
  const chosen = DURATIONS.find(([value]) => value === days);
  if (!chosen) throw new SoukError('VALIDATION_FAILED', { message: 'Choose how long the link works.' });
  const { accountId, personId } = customerOf(request);
  const { title } = snapshot;
  const link = await createChartLink(
    database,
    { accountId, personId },
    { title, content: JSON.stringify(snapshot), days: Number(chosen[0]) },
    clock.now(),
  );
  noteActs(request, { action: 'link.created', target: `chart ${link.id}`, accountId });
  return sendPage(
    reply,
    <Page title="Link created" back={[back, 'Back to the chart']} styles={['account.css']}>
      <Card>
        <div class="notice good" {...ANSWER}>
          <Secret
            id="new-link"
            text={`${baseUrlOf(pages, request).replace(/\/$/, '')}${PUBLIC_PATH}/${link.token}`}
          />
          <p>
            <strong>Copy it now. It is shown only once.</strong>
          </p>
        </div>
        <p>
          Anyone who has the link sees the chart <strong>{title}</strong> with its figures until{' '}
          <Time at={link.expiresAt} />, and nothing else. <a href={LIST_PATH}>Shared charts</a>
        </p>
      </Card>
    </Page>,
  );
}

/** Registers the list of the links to charts. */
export function registerChartLinks(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get(LIST_PATH, async (request, reply) => {
    const { accountId } = customerOf(request);
    const links = await listChartLinks(database, accountId, clock.now());
    return sendPage(
      reply,
      <Page title="Shared charts" styles={['account.css']} wide>
        <p class="lead">
          Anyone who has a link sees the chart and its figures as they were when the link was created. An
          account can have at most {MOST_CHART_LINKS}.
        </p>
        <LinkTable links={links} />
      </Page>,
    );
  });
  scope.post<{ Params: { id: string } }>(
    `${LIST_PATH}/:id/revoke`,
    { schema: { params: { type: 'object', properties: { id: { type: 'string' } } } } },
    async (request, reply) => {
      const { id } = request.params;
      const { accountId } = customerOf(request);
      const isId = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id);
      if (!isId || !(await revokeChartLink(database, accountId, id)))
        throw new SoukError('NOT_FOUND', { message: 'The account has no such link.' });
      noteActs(request, { action: 'link.revoked', target: `chart ${id}`, accountId });
      return reply.redirect(LIST_PATH, 303);
    },
  );
}

function LinkTable({ links }: { links: readonly ChartLink[] }): VNode {
  return (
    <Table
      name="Shared charts"
      rows={links}
      empty="No links to charts. The pages of products, keywords and comparisons create them."
      columns={[
        ['Chart', ({ title }) => title, 'row'],
        ['Created', ({ createdAt }) => <Time at={createdAt} />],
        ['Ends', ({ expiresAt }) => <Time at={expiresAt} />],
        [
          'Revoke',
          ({ id }) => (
            <PostButton action={`${LIST_PATH}/${id}/revoke`} class="small danger">
              Revoke
            </PostButton>
          ),
        ],
      ]}
    />
  );
}

/** Registers the page of a shared chart. Its address is a secret: neither search engines nor other sites receive it. */
export function registerSharedChart(scope: FastifyInstance, { database, clock }: Pages): void {
  scope.get<{ Params: { token: string } }>(`${PUBLIC_PATH}/:token`, async (request, reply) => {
    reply.headers({ 'x-robots-tag': 'noindex, nofollow', 'referrer-policy': 'no-referrer' });
    const link = await chartOfToken(database, request.params.token, clock.now());
    if (!link) throw new SoukError('NOT_FOUND', { message: 'This link has ended or never existed.' });
    return sendPage(reply, sharedPage(link, JSON.parse(link.content) as SharedChart), 200, VISITOR);
  });
}

function sharedPage({ expiresAt }: ChartLink, snapshot: SharedChart): VNode {
  const { title, about, figures, asOf } = snapshot;
  return (
    <Page
      title={title}
      styles={['account.css', ...CHART_FILES.styles, 'explore.css']}
      libraries={CHART_FILES.libraries}
      scripts={CHART_FILES.scripts}
      wide
    >
      <p class="lead">{about}</p>
      <section class="card view" aria-label={title}>
        <SnapshotFigures snapshot={snapshot} />
        <Sources figures={figures} />
        <p class="hint">
          As of <Time at={asOf} />. This link works until <Time at={expiresAt} />.
        </p>
      </section>
    </Page>
  );
}
