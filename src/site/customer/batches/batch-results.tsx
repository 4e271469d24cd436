import type { FastifyRequest } from 'fastify';
import Papa from 'papaparse';
import type { VNode } from 'preact';
import { readAtMost } from '../../../api/self-client.ts';
import type { BatchView } from '../../../batches/view.ts';
import { Table } from '../../kit/table.tsx';
import { streamApi } from '../customer-api.ts';

const ROWS_SHOWN = 25;

/** Enough for the rows that are shown; the rest of the results is not produced. */
const MAX_BYTES = 65_536;

/** The first results of a batch. */
export interface FirstResults {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
}

/** Reads the first results of a batch whose results form a table. @returns null if they cannot be read. */
export async function firstResults(request: FastifyRequest, id: string): Promise<FirstResults | null> {
  const answer = await streamApi(request, { method: 'GET', url: `/api/batches/${id}/results?format=csv` });
  const { bytes, isWhole } = await readAtMost(answer, MAX_BYTES);
  if (answer.status >= 400) return null;
  const { data } = Papa.parse<string[]>(bytes.toString().replace(/^\uFEFF/, ''), { skipEmptyLines: true });
  // The last row of an incomplete answer may be cut.
  const [columns = [], ...rows] = isWhole ? data : data.slice(0, -1);
  return { columns, rows: rows.slice(0, ROWS_SHOWN) };
}

/** The first results of a batch as a table. */
export function ResultTable(props: { results: FirstResults; batch: BatchView }): VNode {
  const { columns, rows } = props.results;
  const { counts, finishedAt } = props.batch;
  const isUnchanged = finishedAt !== null && counts.unchanged > 0 && counts.unchanged === counts.done;
  return (
    <>
      {rows.length === ROWS_SHOWN && <p class="hint">The first {ROWS_SHOWN} rows. A download has all.</p>}
      <Table
        name="First results"
        rows={rows}
        empty={isUnchanged ? 'Nothing has changed.' : 'No results yet.'}
        columns={columns.map((name, i) => [name, (row: readonly string[]) => row[i] ?? ''])}
      />
    </>
  );
}
