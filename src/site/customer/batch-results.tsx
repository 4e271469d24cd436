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

/** Sends the changes of a run of a schedule as a file. */
export async function sendChanges(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { format } = request.params as { format: string };
  const id = idIn(request);
  const url = addressOf(`/api/batches/${id}/changes`, { format });
  return sendDownload(request, reply, { url, name: `souk-batch-changes-${id.slice(-12)}` });
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

/** The rows and changes that the page shows. */
const SHOWN = 25;

/** Enough for what is shown; the rest of the answer is not produced. */
const MAX_BYTES = 524_288;

/** Reads the first lines of an answer. @returns null if the API refuses. */
async function firstLines(request: FastifyRequest, url: string): Promise<string[] | null> {
  const answer = await streamApi(request, { method: 'GET', url });
  const { bytes, isWhole } = await readAtMost(answer, MAX_BYTES);
  if (answer.status >= 400) return null;
  const lines = bytes.toString().split('\n');
  // The last line of an incomplete answer may be cut.
  return (isWhole ? lines : lines.slice(0, -1)).filter(Boolean);
}

/** The first results of a batch, as rows of their first table. */
interface FirstResults {
  /** The tables of the results. */
  tables: readonly string[];
  columns: readonly Column[];
  rows: readonly Row[];
}

/** Reads the first results of a batch. @returns null if they have no rows. */
export async function firstResults(
  request: FastifyRequest,
  { batchId, operation }: BatchView,
): Promise<FirstResults | null> {
  const found = queuedOperation(operation);
  if (!found?.tables) return null;
  const lines = await firstLines(request, `/api/batches/${batchId}/results`);
  return lines && firstRows(found, lines);
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
    if (rows.length >= SHOWN) break;
    for (const row of rowsOfLine(operation, table, inputOf(line), { line }))
      if (rows.push(row) >= SHOWN) break;
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
      {rows.length === SHOWN && (
        <p class="hint">These are the first {SHOWN} rows. The downloads have all of them.</p>
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
  const lines = (await firstLines(request, `/api/batches/${batchId}/changes`)) ?? [];
  return lines.slice(0, SHOWN).map((line) => JSON.parse(line) as ShownChange);
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
