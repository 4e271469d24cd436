import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  failedCalls,
  failedCallsOf,
  type NotedFailure,
  notedFailures,
} from '../../operator/failure-search.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { FailedCallTable } from './failed-calls.tsx';
import { SearchForm } from './search-form.tsx';

const PAGE = 30;

const search = z.object({
  q: z.string().trim().max(100).catch(''),
  before: z.coerce.number().int().positive().safe().nullable().catch(null),
});

/** What went wrong, found by what a customer was told. */
export function registerErrors(scope: FastifyInstance, { gateway }: Pages): void {
  const { database } = gateway;

  scope.get('/admin/errors', async (request, reply) => {
    const { q, before } = search.parse(request.query);
    const [failures, calls] = await Promise.all([
      notedFailures(database, { id: q || null, before, limit: PAGE + 1 }),
      q ? failedCallsOf(database, q, PAGE) : failedCalls(database, { kinds: null, limit: PAGE }),
    ]);
    const last = failures.length > PAGE ? failures[PAGE - 1] : undefined;
    return sendPage(
      reply,
      <Page title="Errors" viewer={viewerOf(request, reply)} path="/admin/errors" wide>
        <h1>Errors</h1>
        <SearchForm
          path="/admin/errors"
          label="Id of an error, a request or a job"
          q={q}
          maxLength={100}
          placeholder="as the customer was told it"
        />
        <h2>On our side and upstream</h2>
        <p class="hint">Kept for 30 days. What customers were told is below.</p>
        {failures.length === 0 && <p class="card empty">{q ? 'Nothing was noted of it.' : 'None.'}</p>}
        {failures.slice(0, PAGE).map((failure) => (
          <Failure key={failure.id} failure={failure} />
        ))}
        {last && (
          <p class="pages">
            <a class="button" href={`/admin/errors?q=${encodeURIComponent(q)}&before=${last.id}`}>
              Older ones
            </a>
          </p>
        )}
        <h2>Failed calls</h2>
        <FailedCallTable calls={calls} />
      </Page>,
    );
  });
}

function Failure({ failure }: { failure: NotedFailure }): VNode {
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
        <span class={code === '5000' ? 'tag bad' : 'tag warn'}>{code}</span>
        <code>{place}</code>
        {accountId !== null && <a href={`/admin/accounts/${accountId}`}>Account {accountId}</a>}
        <span class="push">
          <Time at={at} />
        </span>
      </div>
      <p class="reason">{firstLine}</p>
      {otherLines.length > 0 && (
        <details>
          <summary>Where it happened</summary>
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
