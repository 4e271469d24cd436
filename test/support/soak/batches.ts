import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import type { Dice } from './dice.ts';
import type { History } from './history-file.ts';
import type { SoakReceiver } from './receiver.ts';

export interface BatchLoad {
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
  history: History;
}): BatchLoad {
  const { gateways, accounts, receiver, dice, history } = options;
  let stopped = false;

  async function run(account: SoakAccount, own: Dice): Promise<void> {
    const mine: string[] = [];
    for (let number = 1; !stopped; number += 1) {
      const asins = own.shuffle(ASINS).slice(0, own.pick([1, 4, 12, 30]));
      const idempotencyKey = `${account.name} ${number}`;
      let batchId: string | null = null;
      const body = {
        operation: 'market.product',
        items: asins.map((asin, i) => ({ domain: 1, asin, detailLevel: LEVELS[Math.floor(i / 3) % 2] })),
        idempotencyKey,
        deadline: new Date(Date.now() + 300_000).toISOString(),
        webhook: receiver.urlOf(account.accountId),
      };
      while (!stopped && batchId === null) {
        const reply = await patiently(own.pick(gateways), account.key, 'POST', '/api/batches', body);
        batchId = reply?.batchId ?? null;
        history.note({ kind: 'batch', account: account.accountId, idempotencyKey, asins, batchId });
        await pause(PAUSE_MS);
      }
      if (batchId) mine.push(batchId);
      await changeMind(own, account, mine);
    }
  }

  async function changeMind(
    own: Dice,
    { key, accountId }: SoakAccount,
    mine: readonly string[],
  ): Promise<void> {
    const mood = own.fraction();
    if (mine.length === 0 || mood > 0.5) return;
    const batchId = own.pick(mine);
    const path = `/api/batches/${batchId}`;
    await pause(own.integer(0, PAUSE_MS));
    if (mood < 0.2) await patiently(own.pick(gateways), key, 'DELETE', path);
    else {
      history.note({ kind: 'retry', account: accountId, batchId });
      await patiently(own.pick(gateways), key, 'POST', `${path}/retry`, {});
    }
  }

  const running = Promise.all(accounts.map((account) => run(account, dice.fork())));
  return {
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
