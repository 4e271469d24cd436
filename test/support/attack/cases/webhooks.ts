import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeServer } from '../../close-server.ts';
import type { Answers, AttackCase } from '../attack-case.ts';

/** The number of requests of the attack. All of them join one call. */
const JOINED = 2_100;

/** How long the other account may wait for its delivery. */
const DELIVERY_LIMIT_MS = 10_000;

export const webhooks: AttackCase = {
  name: 'A4',
  what: `joins one call ${JOINED.toLocaleString('en')} times, each time with another webhook on the same host`,
  async prepare({ target, attacker }) {
    const [{ key, accountId }, other] = [
      await target.account('webhooks'),
      await target.account('webhooks-other'),
    ];
    for (const headers of [{ 'x-api-key': key }, { 'x-api-key': other.key }])
      await fetch(`${target.gateway}/api/webhooks/secret`, { method: 'POST', headers });
    const receiver = await openReceiver();
    const call = (asin: string, webhook: string) =>
      `/api/market/product?domain=1&detailLevel=summary&asins=${asin}&webhook=${encodeURIComponent(webhook)}`;
    return {
      attack: () =>
        attacker.flood({
          gateway: target.gateway,
          connections: 50,
          amount: JOINED,
          requests: [
            {
              method: 'GET',
              path: call('B0WEBHOOK0', `${receiver.url}/attack/`).concat('{n}'),
              headers: { 'x-api-key': key },
            },
          ],
        }),
      async judge() {
        const deliveries = receiver.paths.size;
        const askedAt = performance.now();
        await fetch(target.gateway + call('B0WEBHOOK1', `${receiver.url}/other`), {
          headers: { 'x-api-key': other.key },
        });
        const arrived = await receiver.until('/other', DELIVERY_LIMIT_MS);
        const waitedMs = Math.round(performance.now() - askedAt);
        const { rows } = await target.database.query<{ units: number }>(
          'select coalesce(sum(units_charged), 0)::int as units from calls where account_id = $1',
          [accountId],
        );
        await receiver.close();
        return {
          notes: [
            `${rows[0]?.units} units charged, ${deliveries} deliveries; the other account's delivery took ${waitedMs} ms`,
          ],
          faults: arrived ? [] : ["the other account's delivery did not arrive"],
        };
      },
    };
  },
};

/** Accounts of the attack, and the hosts of the pending webhooks of each. */
const FLOODERS = 40;
const HOSTS = 10_000;

/** How long the webhooks of the other account may take. */
const OTHER_LIMIT_MS = 2_000;

const SECONDS = 12;

export const manyHosts: AttackCase = {
  name: 'A4-hosts',
  what: `has ${FLOODERS} accounts with ${HOSTS.toLocaleString('en')} due webhooks each, every one to another host that refuses it`,
  async prepare({ target }) {
    const receiver = await openReceiver((path) => (path.startsWith('/other') ? 204 : 503));
    const { port } = new URL(receiver.url);
    const other = await target.account('hosts-other');
    const secretOf = (key: string) =>
      fetch(`${target.gateway}/api/webhooks/secret`, { method: 'POST', headers: { 'x-api-key': key } });
    await secretOf(other.key);
    for (let i = 0; i < FLOODERS; i += 1) {
      const { accountId, key } = await target.account(`hosts-${i}`);
      await secretOf(key);
      await target.database.query(
        `insert into outbox (id, channel, account_id, recipient, host, kind, payload, next_attempt_at, created_at)
         select gen_random_uuid(), 'webhook', $1, 'http://' || host || '/flood', host, 'flood', '{}', now(), now()
         from (select format('127.%s.%s.1:%s', 1 + i / 250, i % 250, $2::text) as host
           from generate_series(0, $3 - 1) as i) as hosts`,
        [accountId, port, HOSTS],
      );
    }
    await target.database.query('analyze outbox');
    const waitedMs: number[] = [];
    return {
      async attack() {
        const endsAt = performance.now() + SECONDS * 1_000;
        const answers: Answers = {};
        while (performance.now() < endsAt) {
          const path = `/other/${waitedMs.length}`;
          const query = `domain=1&asins=B0CALM0000&webhook=${encodeURIComponent(receiver.url + path)}`;
          const { status } = await fetch(`${target.gateway}/api/market/product?${query}`, {
            headers: { 'x-api-key': other.key },
          });
          const askedAt = performance.now();
          answers[status] = (answers[status] ?? 0) + 1;
          if (status !== 200) break;
          const arrived = await receiver.until(path, DELIVERY_LIMIT_MS);
          waitedMs.push(arrived ? performance.now() - askedAt : Infinity);
          // A call has ten webhooks.
          if (waitedMs.length === 10) break;
        }
        return answers;
      },
      async judge() {
        await target.database.query("delete from outbox where kind = 'flood'");
        await receiver.close();
        const longest = Math.round(Math.max(...waitedMs));
        return {
          notes: [`${waitedMs.length} webhooks of the other account took at most ${longest} ms`],
          faults:
            waitedMs.length > 0 && longest <= OTHER_LIMIT_MS
              ? []
              : [`webhooks of the other account took over ${OTHER_LIMIT_MS} ms`],
        };
      },
    };
  },
};

interface Receiver {
  url: string;
  paths: ReadonlySet<string>;
  /** @returns false if nothing was delivered to the path in time. */
  until(path: string, limitMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** @param statusOf the answer to a delivery to a path. */
async function openReceiver(statusOf: (path: string) => number = () => 204): Promise<Receiver> {
  const paths = new Set<string>();
  const server = createServer((request, response) => {
    const { url = '' } = request;
    paths.add(url);
    server.emit(`delivery to ${url}`);
    request.resume();
    response.writeHead(statusOf(url)).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    paths,
    until(path, limitMs) {
      if (paths.has(path)) return Promise.resolve(true);
      return new Promise((resolve) => {
        const limit = setTimeout(() => resolve(false), limitMs);
        server.once(`delivery to ${path}`, () => {
          clearTimeout(limit);
          resolve(true);
        });
      });
    },
    close: () => closeServer(server),
  };
}
