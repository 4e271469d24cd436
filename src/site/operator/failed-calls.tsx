import type { VNode } from 'preact';
import type { FailedCall } from '../../operator/failure-search.ts';
import { ERRORS } from '../../platform/errors.ts';
import { Time } from '../kit/words.tsx';
import { DataTable } from './data-table.tsx';

/** Calls that failed, and what their customers were told. */
export function FailedCallTable({ calls }: { calls: readonly FailedCall[] }): VNode {
  return (
    <DataTable
      label="Failed calls"
      empty="No call has failed."
      columns={['When', 'Operation', 'Account', 'Error', 'Told', 'Job', 'Error id']}
      rows={calls.map(({ accountId, callId, operation, finishedAt, error }) => {
        const errorId = error.metadata?.errorId;
        return [
          <Time at={finishedAt} />,
          <code>{operation}</code>,
          <a href={`/admin/accounts/${accountId}`}>{accountId}</a>,
          // A kind that a newer version has written is told as it is.
          <code>{ERRORS[error.kind]?.code ?? error.kind}</code>,
          <span class="told">{error.message}</span>,
          <a class="id" href={`/admin/errors?q=${callId}`}>
            {callId}
          </a>,
          typeof errorId === 'string' ? (
            <a class="id" href={`/admin/errors?q=${encodeURIComponent(errorId)}`}>
              {errorId}
            </a>
          ) : (
            <span class="muted">-</span>
          ),
        ];
      })}
    />
  );
}
