import type { FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { readAtMost } from '../../api/self-client.ts';
import type { BatchView } from '../../batches/batch.ts';
import { INDEX, rowsOfLine } from '../../batches/tables/result-table.ts';
import type { QueuedOperation } from '../../operations/define.ts';
import { queuedOperation } from '../../operations/index.ts';
import type { Column, Row } from '../../operations/tables/columns.ts';
import { namedTable, tablesMade } from '../../operations/tables/tables.ts';
import { parseJson } from '../../platform/json.ts';
import { plainValue } from '../../results/tables/write-table.ts';
import { ButtonLink } from '../kit/elements.tsx';
import { readValues } from '../kit/form-request.ts';
import { addressOf } from '../kit/list-page.tsx';
import { Table, type Column as TableColumn } from '../kit/table.tsx';
import { TableLinks } from '../kit/table-links.tsx';
import { Time } from '../kit/words.tsx';
import { idIn, sendDownload, streamApi } from './customer-api.ts';

const LIST = '/account/batches';

/** Sends the results of a batch as a file. */
export async function sendResults(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { format } = request.params as { format: string };
  const { table } = readValues(request.query);
  const id = idIn(request);
  const url = addressOf(`/api/batches/${id}/results`, { format, table });
  const part = table && /^\w{1,50}$/.test(table) ? `-${table}` : '';
  return sendDownload(request, reply, { url, name: `souk-batch${part}-${id.slice(-12)}` });
}

/** The links to the results. */
export function Results({ batch, tables }: { batch: BatchView; tables: readonly string[] }): VNode {
  const { batchId, resultsUntil } = batch;
  const [first] = tables;
  const address = (table: string, format: string) =>
    addressOf(`${LIST}/${batchId}/results.${format}`, { table });
  return (
    <>
      <h2>Results</h2>
      <p class="buttons">
        <ButtonLink to={`${LIST}/${batchId}/results.ndjson`} download>
          Download NDJSON
        </ButtonLink>
        {first && (
          <ButtonLink to={address(first, 'csv')} download>
            Download CSV
          </ButtonLink>
        )}
      </p>
      {first && <TableLinks tables={tables} address={address} />}
      <p class="hint">
        {resultsUntil ? (
          <>
            Available until <Time at={resultsUntil} />.
          </>
        ) : (
          'Until the batch has ended, a download stops at the first item that has not finished.'
        )}
      </p>
    </>
  );
}

const ROWS_SHOWN = 25;

/** Enough for the rows that are shown; the rest of the results is not produced. */
const MAX_BYTES = 524_288;

/** The first results of a batch. */
interface FirstResults {
  /** The tables of the results. */
  tables: readonly string[];
  columns: readonly Column[];
  rows: readonly Row[];
}

/** Reads the first results of a batch, as rows of their first table. @returns null if they have no rows. */
export async function firstResults(
  request: FastifyRequest,
  { batchId, operation }: BatchView,
): Promise<FirstResults | null> {
  const found = queuedOperation(operation);
  if (!found?.tables) return null;
  const answer = await streamApi(request, { method: 'GET', url: `/api/batches/${batchId}/results` });
  const { bytes, isWhole } = await readAtMost(answer, MAX_BYTES);
  const lines = bytes.toString().split('\n').filter(Boolean);
  // The last line of an incomplete answer may be cut.
  return answer.status >= 400 ? null : firstRows(found, isWhole ? lines : lines.slice(0, -1));
}

function firstRows(operation: QueuedOperation, lines: readonly string[]): FirstResults | null {
  const [first] = lines;
  if (first === undefined) return { tables: [], columns: INDEX, rows: [] };
  const inputOf = (line: string) => operation.params.parse((parseJson(line) as { params: unknown }).params);
  const input = inputOf(first);
  const tables = tablesMade(operation, input);
  const [table] = tables;
  if (table === undefined) return null;
  const rows: Row[] = [];
  for (const line of lines) {
    if (rows.length >= ROWS_SHOWN) break;
    for (const row of rowsOfLine(operation, table, inputOf(line), line))
      if (rows.push(row) >= ROWS_SHOWN) break;
  }
  const { columns } = namedTable(operation, { ...(input as object), table });
  return { tables, columns: [...INDEX, ...columns], rows };
}

export function ResultTable(props: { results: FirstResults; batch: BatchView }): VNode {
  const { columns, rows } = props.results;
  const { counts, finishedAt } = props.batch;
  const isUnchanged = finishedAt !== null && counts.unchanged > 0 && counts.unchanged === counts.done;
  return (
    <>
      {rows.length === ROWS_SHOWN && (
        <p class="hint">These are the first {ROWS_SHOWN} rows. The downloads have all of them.</p>
      )}
      <Table
        name="First results"
        stacks={false}
        rows={rows}
        empty={isUnchanged ? 'Nothing has changed.' : 'No results yet.'}
        columns={columns.map(resultColumn)}
      />
    </>
  );
}

function resultColumn(column: Column): TableColumn<Row> {
  const cell = (row: Row) => String(plainValue(column, row[column.name]) ?? '');
  return column.name === 'title' ? [column.name, cell, 'long'] : [column.name, cell];
}
