import type { VNode } from 'preact';
import { addressFor } from '../../../accounts/account-address.ts';
import type { Entered } from '../../../accounts/sessions.ts';
import type { JobView } from '../../../api/job-view.ts';
import { Notice, SmallLink } from '../../kit/elements.tsx';
import { HiddenFields, PostForm, Submit } from '../../kit/form.tsx';
import type { FormValues } from '../../kit/form-request.ts';
import { addressOf } from '../../kit/list-page.tsx';
import { TableLinks } from '../../kit/table-links.tsx';
import { counted } from '../../kit/words.tsx';
import { InOtherPrograms, RepeatLink } from '../call-examples.tsx';
import type { ApiAnswer } from '../customer-api.ts';
import { resultPath } from '../job-page.tsx';
import { ShareForm } from './chart-links.tsx';
import { tablesOf, type View } from './explore-view.tsx';
import { requestOf, type ViewState } from './view-state.ts';

/** Where a card is shown. */
export interface CardPlace {
  path: string;
  query: FormValues;
  imageCdnUrl: string;
  /** The other accounts of the person. */
  others: Entered['others'];
  /** Address of this installation, for curl commands. */
  baseUrl: string;
}

/** A view on its page: its price and a button, its progress, its error or its data. */
export function ViewCard(props: {
  view: View;
  state: ViewState;
  place: CardPlace;
  /** Whether the card is refreshed on its own while its call runs. */
  isRefreshed: boolean;
}): VNode {
  const { view, state, place, isRefreshed } = props;
  const isOpen = state.kind === 'running';
  return (
    <section
      class="card view"
      id={view.name}
      tabIndex={-1}
      aria-labelledby={`${view.name}-title`}
      aria-busy={isOpen}
      data-refresh={isOpen && isRefreshed ? '1' : undefined}
    >
      <h2 id={`${view.name}-title`}>{view.title}</h2>
      {contentOf(view, state, place)}
    </section>
  );
}

function contentOf(view: View, state: ViewState, place: CardPlace): VNode {
  switch (state.kind) {
    case 'priced':
      return <Priced view={view} state={state} place={place} />;
    case 'refused':
      return <Refused answer={state.answer} />;
    case 'running':
      return <Running job={state.job} />;
    case 'unread':
      return <Unread answer={state.answer} />;
    case 'tooLarge':
      return (
        <p>
          The answer is too large for this page.{' '}
          <a href={resultPath(state.job.jobId)} download>
            Download it
          </a>
          .
        </p>
      );
    case 'done':
      return (
        <>
          {view.show(state.data, { ...place, jobId: state.job.jobId })}
          {view.isEmpty?.(state.data) ? (
            <p class="muted">{counted(state.job.unitsCharged, 'unit')} charged</p>
          ) : (
            <Elsewhere view={view} job={state.job} place={place} />
          )}
        </>
      );
  }
}

function Priced(props: { view: View; state: ViewState & { kind: 'priced' }; place: CardPlace }): VNode {
  const { view, state, place } = props;
  const { quote, failed, isExpired } = state;
  const { path, query, others } = place;
  const address = `${addressOf(path, query)}#${view.name}`;
  const { units, admitted, deduplicated, rejectMessage, rejectReason } = quote;
  const again = isExpired ? 'Fetch again' : failed ? 'Try again' : view.button;
  return (
    <>
      {isExpired && (
        <p>
          {others.length === 0 ? (
            'This answer has expired.'
          ) : (
            <ExpiredHere others={others} address={address} />
          )}
        </p>
      )}
      {failed?.error && (
        <Notice tone="bad" role="alert">
          The call failed: {failed.error.msg} <code>{failed.error.code}</code> Nothing was charged.
        </Notice>
      )}
      {admitted ? (
        <PostForm action={place.path} class="inline">
          <HiddenFields fields={{ ...place.query, view: view.name }} />
          <Submit>
            {again} ({deduplicated ? 'free' : counted(units, 'unit')})
          </Submit>
          {view.withNext && (
            <button type="submit" name="more" value="1">
              {view.withNext.button} (at most{' '}
              {counted((deduplicated ? 0 : units) + view.withNext.mostUnits, 'unit')})
            </button>
          )}
          {deduplicated && <span class="muted">You made this call less than five minutes ago.</span>}
        </PostForm>
      ) : (
        <div class="notice warn">
          <p>
            This call costs {counted(units, 'unit')} and cannot be made now: {rejectMessage}{' '}
            <code>{rejectReason}</code>
          </p>
          {rejectReason?.startsWith('QUOTA_') && (
            <p>
              <a href="/account/plans">Plans and packs</a>
            </p>
          )}
        </div>
      )}
    </>
  );
}

/** The data that an address names has expired, or the address is of another account of the person. */
function ExpiredHere({ others, address }: { others: CardPlace['others']; address: string }): VNode {
  return (
    <>
      This answer has expired, or it belongs to another of your accounts:{' '}
      {others.map(({ id, name }, i) => (
        <span key={id}>
          {i > 0 && ', '}
          <a href={addressFor(id, address)}>{name}</a>
        </span>
      ))}
    </>
  );
}

function Refused({ answer: { envelope } }: { answer: ApiAnswer }): VNode {
  return (
    <Notice tone="bad" role="alert">
      {envelope.msg} <code>{envelope.code}</code> Nothing was charged.
    </Notice>
  );
}

function Unread({ answer: { envelope } }: { answer: ApiAnswer }): VNode {
  return (
    <Notice tone="warn">
      The answer cannot be read now, and the page tries again: {envelope.msg} <code>{envelope.code}</code>
    </Notice>
  );
}

function Running({ job: { progress, etaMs } }: { job: JobView }): VNode {
  return (
    <div class="loading">
      <p>
        Loading
        {etaMs !== null && etaMs > 1000 && `, about ${counted(Math.ceil(etaMs / 1000), 'second')} left`}
      </p>
      <progress max={100} value={progress === 0 ? undefined : progress} aria-label="Progress of the call" />
      <noscript>Reload the page to see the data.</noscript>
    </div>
  );
}

/** What the call cost, and how to get the same data in other ways. */
function Elsewhere({ view, job, place }: { view: View; job: JobView; place: CardPlace }): VNode {
  const { path, query, baseUrl } = place;
  const { jobId, unitsCharged } = job;
  const tables = tablesOf(view);
  const [first] = tables;
  const tableAddress = (table: string, format: string) =>
    addressOf(path, { ...query, download: view.name, table, format });
  return (
    <footer class="elsewhere">
      <p class="row">
        <span class="muted">{counted(unitsCharged, 'unit')} charged</span>
        {first && (
          <SmallLink to={tableAddress(first.name, 'csv')} download>
            Download CSV
          </SmallLink>
        )}
        <SmallLink to={resultPath(jobId)} download>
          Download the answer
        </SmallLink>
        <RepeatLink {...view} />
      </p>
      {first && <TableLinks tables={tables.map(({ name }) => name)} address={tableAddress} />}
      {view.snapshot && <ShareForm name={view.name} place={place} />}
      <InOtherPrograms name={view.name} request={requestOf(view)} baseUrl={baseUrl} />
    </footer>
  );
}
