import type { VNode } from 'preact';
import type { FailedCall } from '../../operator/failure-search.ts';
import { ERRORS } from '../../platform/errors.ts';
import { Table } from '../kit/table.tsx';
import { Dash, Time } from '../kit/words.tsx';

/** Failed calls with the errors that customers received. */
export function FailedCallTable({ calls }: { calls: readonly FailedCall[] }): VNode {
  return (
    <Table
      name="Failed calls"
      empty="No failed calls."
      rows={calls}
      columns={[
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
      ]}
    />
  );
}

/** An id that links to its failures. */
function ErrorsOf({ id }: { id: unknown }): VNode {
  if (typeof id !== 'string') return <Dash />;
  return (
    <a class="id" href={`/admin/errors?q=${encodeURIComponent(id)}`}>
      {id}
    </a>
  );
}
