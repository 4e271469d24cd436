import type { FastifyInstance } from 'fastify';
import { RETENTION_RULES } from '../../operator/retention-rules.ts';
import { retentionNotes, tableSizes } from '../../operator/table-sizes.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { amount, count, Dash, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const NOTES_SHOWN = 20;

/** Registers the page of what the stores hold, and what maintenance has deleted. */
export function registerStorage(scope: FastifyInstance, { database }: Pages): void {
  scope.get('/admin/storage', async (_request, reply) => {
    const [tables, notes] = await Promise.all([tableSizes(database), retentionNotes(database, NOTES_SHOWN)]);
    return sendPage(
      reply,
      <Page title="Storage" wide>
        <h1>Storage</h1>
        <h2>Maintenance</h2>
        <Table
          name="Maintenance"
          empty="Maintenance has not created or deleted anything yet."
          rows={notes}
          columns={[
            ['Time', ({ at }) => <Time at={at} />],
            ['What', ({ note }) => note, 'long'],
          ]}
        />
        <h2>Tables</h2>
        <Table
          name="Tables"
          rows={tables}
          columns={[
            ['Table', ({ name }) => <code>{name}</code>, 'row'],
            ['Size', ({ bytes }) => mebibytes(bytes), 'number'],
            ['Rows, about', ({ rows }) => count(rows), 'number'],
            ['Partitions', ({ partitions }) => (partitions > 0 ? count(partitions) : <Dash />), 'number'],
            ['Kept', ({ name }) => RETENTION_RULES[name] ?? <Dash />, 'long'],
          ]}
        />
      </Page>,
    );
  });
}

function mebibytes(bytes: number): string {
  return `${amount(bytes / 1_048_576)} MiB`;
}
