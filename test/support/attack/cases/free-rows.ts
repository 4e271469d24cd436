import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ATTEMPTS_KEPT } from '../../../../src/outbox/queue.ts';
import { TESTS_KEPT } from '../../../../src/outbox/webhooks/deliveries.ts';
import { closeServer } from '../../close-server.ts';
import type { Target, TargetAccount } from '../../target.ts';
import type { AttackCase, Scene } from '../attack-case.ts';
import type { FloodRequest } from '../loads/flood.ts';

/** How long an attack takes, and the accounts that send its requests: each may send 20 a second. */
const SECONDS = 15;
const ACCOUNTS = 4;

/** How long deliveries of the attack may be pending after it. */
const DRAINED_WITHIN_MS = 30_000;

export const replays: AttackCase = {
  name: 'A9-replays',
  what: `replays a delivery of each of ${ACCOUNTS} accounts again and again`,
  async prepare(scene) {
    const { target } = scene;
    const receiver = await openReceiver();
    const requests = await forEachAccount(scene, 'replays', async (account) => {
      await createSecret(target, account);
      const { rows } = await target.database.query<{ id: string }>(
        `insert into outbox (id, channel, account_id, recipient, host, kind, payload, state, attempts, created_at, finished_at,
           expires_at)
         values (gen_random_uuid(), 'webhook', $1, $2, $3, 'replayed', '{}', 'delivered', 1, now(), now(), now() + interval '30 days') returning id`,
        [account.accountId, receiver.url, new URL(receiver.url).host],
      );
      return { path: `/api/webhooks/deliveries/${rows[0]?.id}/replay` };
    });
    return {
      attack: () => sendAll(scene, requests),
      async judge() {
        await untilSent(target, 'replayed');
        const { rows } = await target.database.query<{ made: number; most: number }>(
          `select sum(attempts)::int as made, max((select count(*) from outbox_attempts where message_id = d.id)) as most
           from outbox d where kind = 'replayed'`,
        );
        await receiver.close();
        const { made = 0, most = 0 } = rows[0] ?? {};
        return {
          notes: [`${made} attempts, ${most} rows of one delivery at most`],
          faults: most > ATTEMPTS_KEPT ? [`a delivery keeps over ${ATTEMPTS_KEPT} attempts`] : [],
        };
      },
    };
  },
};

export const webhookTests: AttackCase = {
  name: 'A9-tests',
  what: `sends test webhooks with ${ACCOUNTS} keys`,
  async prepare(scene) {
    const { target } = scene;
    const receiver = await openReceiver();
    const requests = await forEachAccount(scene, 'tests', async (account) => {
      await createSecret(target, account);
      return { path: '/api/webhooks/test', body: JSON.stringify({ url: receiver.url }) };
    });
    return {
      attack: () => sendAll(scene, requests),
      async judge() {
        await untilSent(target, 'webhook.test');
        const most = await mostOf(target, "outbox where kind = 'webhook.test'", 'account_id');
        await receiver.close();
        return {
          notes: [`${most} rows of one account at most`],
          faults: most > TESTS_KEPT ? [`an account keeps over ${TESTS_KEPT} tests`] : [],
        };
      },
    };
  },
};

export const refusedRuns: AttackCase = {
  name: 'A9-runs',
  what: `starts schedules of ${ACCOUNTS} accounts again and again while their runs wait`,
  async prepare(scene) {
    const { target } = scene;
    const schedules: string[] = [];
    const requests = await forEachAccount(scene, 'runs', async ({ accountId, key }) => {
      const batch = { operation: 'market.product', params: { domain: 1 }, split: { asins: ['B0RUN00000'] } };
      const created = await fetch(`${target.gateway}/api/schedules`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'runs', cron: '0 4 * * *', batch }),
      });
      const { data } = (await created.json()) as { data: { scheduleId: string } };
      schedules.push(data.scheduleId);
      await target.database.query(
        `insert into batches (id, account_id, operation, state, feed_window, item_count, units_quoted, request_hash,
           schedule_id, created_at, deadline_at)
         values (gen_random_uuid(), $1, 'market.product', 'running', 'any', 1, 1, '', $2, now(), now() + interval '1 hour')`,
        [accountId, data.scheduleId],
      );
      return { path: `/api/schedules/${data.scheduleId}/run` };
    });
    return {
      attack: () => sendAll(scene, requests),
      async judge() {
        const most = await mostOf(target, 'schedule_runs', 'schedule_id');
        await target.database.query('delete from batches where schedule_id = any($1)', [schedules]);
        return {
          notes: [`${most} runs of one schedule at most`],
          faults: most > 0 ? ['refused runs are recorded'] : [],
        };
      },
    };
  },
};

async function forEachAccount(
  { target }: Scene,
  name: string,
  requestOf: (account: TargetAccount) => Promise<{ path: string; body?: string }>,
): Promise<FloodRequest[]> {
  const requests: FloodRequest[] = [];
  for (let i = 0; i < ACCOUNTS; i += 1) {
    const account = await target.account(`${name}-${i}`);
    const { path, body = '{}' } = await requestOf(account);
    const headers = { 'x-api-key': account.key, 'content-type': 'application/json' };
    requests.push({ method: 'POST', path, headers, body });
  }
  return requests;
}

function sendAll({ attacker, target }: Scene, requests: readonly FloodRequest[]) {
  return attacker.flood({ gateway: target.gateway, connections: ACCOUNTS, seconds: SECONDS, requests });
}

function createSecret({ gateway }: Target, { key }: TargetAccount): Promise<Response> {
  return fetch(`${gateway}/api/webhooks/secret`, { method: 'POST', headers: { 'x-api-key': key } });
}

/** Waits until no delivery of a type is pending, because each leaves rows when it ends. */
async function untilSent({ database }: Target, type: string): Promise<void> {
  const endsAt = performance.now() + DRAINED_WITHIN_MS;
  for (;;) {
    const { rowCount } = await database.query(
      "select from outbox where state = 'pending' and kind = $1 limit 1",
      [type],
    );
    if (rowCount === 0 || performance.now() > endsAt) return;
    await pause(200);
  }
}

async function mostOf({ database }: Target, rowsOf: string, owner: string): Promise<number> {
  const { rows } = await database.query<{ most: number | null }>(
    `select max(count) as most from (select count(*) as count from ${rowsOf} group by ${owner}) as counts`,
  );
  return rows[0]?.most ?? 0;
}

interface Receiver {
  url: string;
  close(): Promise<void>;
}

/** Opens a receiver that takes every delivery. */
async function openReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => closeServer(server),
  };
}
