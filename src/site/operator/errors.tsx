import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import {
  type FailedCall,
  failedCalls,
  failedCallsOf,
  type LoggedFailure,
  searchFailures,
} from '../../operator/failure-search.ts';
import { ERRORS } from '../../platform/errors.ts';
import { Tag } from '../kit/elements.tsx';
import { ListPage, pageOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { tableOf } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { readSearch, SearchForm } from './accounts.tsx';

const PATH = '/admin/errors';

const FAILURES_A_PAGE = 30;

/** Registers the search for failures by the ids that customers received. */
export function registerErrors(scope: FastifyInstance, { database }: Pages): void {
  scope.get(PATH, async (request, reply) => {
    const { q, before, query } = readSearch(request.query, 100);
    const [found, calls] = await Promise.all([
      searchFailures(database, { id: q || null, before, limit: FAILURES_A_PAGE + 1 }),
      q
        ? failedCallsOf(database, q, FAILURES_A_PAGE)
        : failedCalls(database, { kinds: null, since: 0, limit: FAILURES_A_PAGE }),
    ]);
    const list = pageOf(found, FAILURES_A_PAGE, query, ({ id }) => id);
    const filter = (
      <SearchForm
        path={PATH}
        label="Error id, request id or job id"
        q={q}
        maxLength={100}
        placeholder="id that the customer received"
      />
    );
    const note = (
      <>
        <h2>Failed calls</h2>
        <FailedCallTable rows={calls} />
      </>
    );
    return sendPage(
      reply,
      <ListPage
        title="Errors"
        styles={[]}
        filter={filter}
        path={PATH}
        list={list}
        cursor="before"
        note={note}
      >
        <h2>On our side and upstream</h2>
        <p class="hint">Kept for 30 days. The errors that customers received are listed below.</p>
        {list.items.length === 0 && <p class="card empty">{q ? 'No failures found.' : 'No failures.'}</p>}
        {list.items.map((failure) => (
          <Failure key={failure.id} failure={failure} />
        ))}
      </ListPage>,
    );
  });
}

function Failure({ failure }: { failure: LoggedFailure }): VNode {
  const { at, code, place, errorId, requestId, callId, accountId, reason } = failure;
  const [firstLine = '', ...otherLines] = reason.split('\n');
  const ids = [
    ['Error', errorId],
    ['Request', requestId],
    ['Job', callId],
  ] as const;
  return (
    <article class="card">
      <div class="row">
        <Tag tone={code === '5000' ? 'bad' : 'warn'}>{code}</Tag>
        <code>{place}</code>
        {accountId !== null && <a href={`/admin/accounts/${accountId}`}>Account {accountId}</a>}
        <span class="push">
          <Time at={at} />
        </span>
      </div>
      <p class="reason">{firstLine}</p>
      {otherLines.length > 0 && (
        <details>
          <summary>Stack trace</summary>
          <pre class="wrap">
            <code>{otherLines.join('\n')}</code>
          </pre>
        </details>
      )}
      <p class="row">
        {ids.map(
          ([name, id]) =>
            id !== null && (
              <small key={name}>
                {name} <code>{id}</code>
              </small>
            ),
        )}
      </p>
    </article>
  );
}

/** Failed calls with the errors that customers received. */
export const FailedCallTable = tableOf<FailedCall>('Failed calls', 'No failed calls.', [
  ['Date', ({ finishedAt }) => <Time at={finishedAt} />],
  ['Operation', ({ operation }) => <code>{operation}</code>],
  ['Account', ({ accountId }) => <a href={`/admin/accounts/${accountId}`}>{accountId}</a>],
  // A newer version may have written a kind that this one does not know.
  ['Error', ({ error }) => <code>{ERRORS[error.kind]?.code ?? error.kind}</code>],
  ['Message to the customer', ({ error }) => <span class="long-text">{error.message}</span>],
  [
    'Job, error id',
    ({ callId, error }) => (
      <>
        <ErrorsOf id={callId} />
        <br />
        <ErrorsOf id={error.metadata?.errorId} />
      </>
    ),
  ],
]);

/** An id that links to its failures. */
function ErrorsOf({ id }: { id: unknown }): VNode {
  if (typeof id !== 'string') return <Dash />;
  return (
    <a class="id" href={`/admin/errors?q=${encodeURIComponent(id)}`}>
      {id}
    </a>
  );
}
