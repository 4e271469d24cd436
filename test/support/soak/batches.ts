import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import type { Dice } from './dice.ts';
import type { SoakReceiver } from './receiver.ts';

/** A requested batch, with its idempotency key. */
export interface WantedBatch {
  accountId: number;
  idempotencyKey: string;
  items: number;
  /** null: no client has received its id. */
  batchId: string | null;
}

export interface BatchLoad {
  wanted: WantedBatch[];
  /** Creates no more batches. Resolves when all requests have ended. */
  stop(): Promise<void>;
}

/** The time limit of an answer. After it the request is repeated with the same idempotency key. */
const PATIENCE_MS = 8_000;

const PAUSE_MS = 1_500;

const ASINS = Array.from({ length: 900 }, (_, i) => `B0BATCH${100 + i}`);

/**
 * Items of one detail level share a call. Alternating levels make many small calls, because each generated product has 70 KB.
 */
const LEVELS = ['summary', 'lite'];

/** Clients that create batches one after the other, cancel some of them, and retry failed ones. */
export function startBatches(options: {
  gateways: readonly string[];
  accounts: readonly SoakAccount[];
  receiver: SoakReceiver;
  dice: Dice;
}): BatchLoad {
  const { gateways, accounts, receiver, dice } = options;
  const wanted: WantedBatch[] = [];
  let stopped = false;

  async function run(account: SoakAccount, own: Dice): Promise<void> {
    const mine: string[] = [];
    for (let number = 1; !stopped; number += 1) {
      const asins = own.shuffle(ASINS).slice(0, own.pick([1, 4, 12, 30]));
      const batch: WantedBatch = {
        accountId: account.accountId,
        items: asins.length,
        batchId: null,
        idempotencyKey: `${account.name} ${number}`,
      };
      wanted.push(batch);
      const body = {
        operation: 'market.product',
        items: asins.map((asin, i) => ({ domain: 1, asin, detailLevel: LEVELS[Math.floor(i / 3) % 2] })),
        idempotencyKey: batch.idempotencyKey,
        deadline: new Date(Date.now() + 300_000).toISOString(),
        webhook: receiver.urlOf(account.accountId),
      };
      while (!stopped && batch.batchId === null) {
        const reply = await patiently(own.pick(gateways), account.key, 'POST', '/api/batches', body);
        batch.batchId = reply?.batchId ?? null;
        await pause(PAUSE_MS);
      }
      if (batch.batchId) mine.push(batch.batchId);
      await changeMind(own, account, mine);
    }
  }

  async function changeMind(own: Dice, { key }: SoakAccount, mine: readonly string[]): Promise<void> {
    const mood = own.fraction();
    if (mine.length === 0 || mood > 0.5) return;
    const path = `/api/batches/${own.pick(mine)}`;
    await pause(own.integer(0, PAUSE_MS));
    if (mood < 0.2) await patiently(own.pick(gateways), key, 'DELETE', path);
    else await patiently(own.pick(gateways), key, 'POST', `${path}/retry`, {});
  }

  const running = Promise.all(accounts.map((account) => run(account, dice.fork())));
  return {
    wanted,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** Returns the data of an answer; null without an answer in time, or with another status than expected. */
async function patiently(
  gateway: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ batchId: string } | null> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const reply = await createClient(gateway, key).get(path, { method, body, signal });
    return reply.status < 300 ? reply.json.data : null;
  } catch {
    return null;
  }
}
