import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import {
  type RedisContents,
  redisContents,
  retentionNotes,
  tableSizes,
} from '../../operator/redis-contents.ts';
import { RETENTION_RULES } from '../../operator/retention.ts';
import type { Redis } from '../../platform/redis.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { amount, count, Dash, Time } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

const NOTES_SHOWN = 20;

/** Registers the page of what the stores hold, and what maintenance has deleted. */
export function registerStorage(scope: FastifyInstance, pages: Pages): void {
  const { database, redis, cache, keys, log } = pages;

  const contentsOf = (server: Redis) =>
    redisContents(server, keys.namespace).catch((error: unknown) => {
      log.warn({ err: error }, 'failed to read the contents of Redis for the operator console');
      return null;
    });

  scope.get('/admin/storage', async (_request, reply) => {
    const [tables, notes, contents, cached] = await Promise.all([
      tableSizes(database),
      retentionNotes(database, NOTES_SHOWN),
      contentsOf(redis),
      cache.isOwn ? contentsOf(cache.redis) : undefined,
    ]);
    return sendPage(
      reply,
      <Page title="Storage" wide>
        <h2>Maintenance</h2>
        <Table
          name="Maintenance"
          empty="Maintenance has not created or deleted anything yet."
          rows={notes}
          columns={[
            ['Time', ({ at }) => <Time at={at} />],
            ['Change', ({ note }) => note, 'long'],
          ]}
        />
        <h2>Redis</h2>
        <RedisTable name="Redis" contents={contents} />
        {cached !== undefined && (
          <>
            <h2>Redis of cached data</h2>
            <RedisTable name="Redis of cached data" contents={cached} />
          </>
        )}
        <h2>Tables</h2>
        <Table
          name="Tables"
          rows={tables}
          columns={[
            ['Table', ({ name }) => <code>{name}</code>, 'row'],
            ['Size', ({ bytes }) => mebibytes(bytes), 'number'],
            ['Estimated rows', ({ rows }) => count(rows), 'number'],
            ['Partitions', ({ partitions }) => (partitions > 0 ? count(partitions) : <Dash />), 'number'],
            ['Kept', ({ name }) => RETENTION_RULES[name] ?? <Dash />, 'long'],
          ]}
        />
      </Page>,
    );
  });
}

/** @param contents null if this Redis cannot be reached. */
function RedisTable({ name, contents }: { name: string; contents: RedisContents | null }): VNode {
  if (!contents) return <p class="notice bad">{name} is temporarily unavailable.</p>;
  const { usedBytes, limitBytes, kinds } = contents;
  return (
    <>
      <p>
        {name} uses {mebibytes(usedBytes)}
        {limitBytes > 0 ? ` of ${mebibytes(limitBytes)}` : ', without a limit'}. Figures by kind are estimated
        from a sample of its keys.
      </p>
      <Table
        name={name}
        empty="No keys."
        rows={kinds}
        columns={[
          ['Kind', ({ kind }) => kind, 'row'],
          ['Estimated size', ({ bytes }) => mebibytes(bytes), 'number'],
          ['Estimated keys', (one) => count(one.keys), 'number'],
        ]}
      />
    </>
  );
}

function mebibytes(bytes: number): string {
  return `${amount(bytes / 1_048_576)} MiB`;
}
