import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { newAsin } from './answers.ts';
import { auditLedger } from './soak/ledger-audit.ts';
import type { Souk } from './souk.ts';
import { openCalls } from './workers.ts';

const CLIENTS = 6;

/** Calls that several clients send without a pause. */
export interface StoreLoad {
  /** The statuses so far, with how often each was received. */
  statuses: Map<number, number>;
  /** Resolves after `count` more answers with status 200, sent after this moment. */
  answered(count: number): Promise<void>;
  /** Sends nothing more, and waits for the last answers. */
  stop(): Promise<void>;
}

/** Sends calls for new products to all gateways, until `stop` or the end of the test. */
export async function startStoreLoad(souk: Souk): Promise<StoreLoad> {
  const statuses = new Map<number, number>();
  let stopped = false;
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => souk.client({ gateway: i % souk.gateways.length })),
  );
  const running = clients.map(async (client) => {
    while (!stopped) {
      const { status } = await client.get(`/api/market/product?domain=1&asins=${newAsin()}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      // A refusal is immediate, and a customer pauses after it.
      if (status !== 200) await pause(50);
    }
  });
  const stop = async () => {
    stopped = true;
    await Promise.all(running);
  };
  // The gateways of a test that fails close under the last requests.
  onTestFinished(() => stop().catch(() => {}));
  return {
    statuses,
    async answered(count) {
      const wanted = (statuses.get(200) ?? 0) + count;
      await expect.poll(() => statuses.get(200) ?? 0, { timeout: 60_000 }).toBeGreaterThanOrEqual(wanted);
    },
    stop,
  };
}

/** Checks that all calls have ended, and that the ledger adds up. */
export async function expectBalancedBooks(souk: Souk): Promise<void> {
  await expect
    .poll(
      async () => {
        // Reconciling ends calls whose jobs were lost.
        souk.clock.advance(1_000);
        return openCalls(souk);
      },
      { timeout: 90_000, interval: 50 },
    )
    .toBe(0);
  expect(await auditLedger(souk.database)).toEqual([]);
}
