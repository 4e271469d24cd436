import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AttackCase } from '../attack-case.ts';

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

interface Receiver {
  url: string;
  paths: ReadonlySet<string>;
  /** @returns false if nothing was delivered to the path in time. */
  until(path: string, limitMs: number): Promise<boolean>;
  close(): Promise<void>;
}

async function openReceiver(): Promise<Receiver> {
  const paths = new Set<string>();
  const server = createServer((request, response) => {
    paths.add(request.url ?? '');
    server.emit(`delivery to ${request.url}`);
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
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
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
