import type { FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import type { BatchView } from '../../batches/batch.ts';
import { ButtonLink } from '../kit/elements.tsx';
import { Table } from '../kit/table.tsx';
import { TableLinks } from '../kit/table-links.tsx';
import { apiText } from './customer-api.ts';

const SHOWN = 25;

/** Enough for the changes that are shown. */
const MAX_BYTES = 65_536;

interface ShownChange {
  key: string;
  column: string;
  before: unknown;
  after: unknown;
}

/** Returns the first changes of a run of a schedule; none if it is no such run. */
export async function changesIn(
  request: FastifyRequest,
  { batchId, scheduleId, counts }: BatchView,
): Promise<readonly ShownChange[]> {
  if (scheduleId === null || counts.done === 0) return [];
  const { text, isWhole } = await apiText(request, `/api/batches/${batchId}/changes`, MAX_BYTES);
  const lines = text.split('\n').slice(0, isWhole ? undefined : -1);
  return lines
    .filter((line) => line !== '')
    .slice(0, SHOWN)
    .map((line) => JSON.parse(line) as ShownChange);
}

/** The values before and after of what has changed since the previous run. */
export function Changes({ path, changes }: { path: string; changes: readonly ShownChange[] }): VNode {
  return (
    <>
      <h2>Changes since the previous run</h2>
      {changes.length === SHOWN && (
        <p class="hint">These are the first {SHOWN} changes. The download has all of them.</p>
      )}
      <Table
        name="Changes"
        rows={changes}
        empty="Nothing has changed."
        columns={[
          ['Row', ({ key }) => key],
          ['Column', ({ column }) => column],
          ['Before', ({ before }) => shown(before)],
          ['After', ({ after }) => shown(after)],
        ]}
      />
      <p>
        <ButtonLink to={`${path}/changes.csv`} download>
          Download the changes
        </ButtonLink>
      </p>
      <TableLinks tables={['changes']} address={(_, format) => `${path}/changes.${format}`} />
    </>
  );
}

function shown(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
