import { setTimeout as pause } from 'node:timers/promises';
import { auditLedger } from '../../soak/ledger-audit.ts';
import type { AttackCase, Scene } from '../attack-case.ts';

const SECONDS = 15;

/** Every answer comes within 2 seconds; the rest is for a busy machine. */
const ANSWER_LIMIT_MS = 2_500;

/** How long calls may be refused after the store has returned. */
const RECOVERY_LIMIT_MS = 10_000;

/** How long calls that were under way may take to end. */
const BOOKS_LIMIT_MS = 60_000;

export const stoppedRedis = stoppedStore('redis', 'A9-redis');
export const stoppedPostgres = stoppedStore('postgres', 'A9-postgres');

function stoppedStore(store: 'redis' | 'postgres', name: string): AttackCase {
  return {
    name,
    what: `stops every process of ${store === 'redis' ? 'Redis' : 'PostgreSQL'} (SIGSTOP) for ${SECONDS} s under cached calls`,
    prepare: async (scene) => {
      const { servers, secondAccount } = scene;
      let isReadyTextRight = false;
      let callsWhileStopped = '';
      const faults: string[] = [];
      return {
        stopsStore: true,
        async attack() {
          await servers.freeze(store);
          const until = performance.now() + SECONDS * 1_000;
          const felt = await secondAccount.experience(() => performance.now() > until, 8);
          const readiness = await fetch(`${scene.target.gateway}/readyz`);
          isReadyTextRight = readiness.status === 503 && (await readiness.text()).includes(store);
          servers.thaw();
          callsWhileStopped = `longest answer ${Math.round(felt.longestMs)} ms`;
          if (felt.longestMs > ANSWER_LIMIT_MS)
            faults.push(`an answer took ${Math.round(felt.longestMs)} ms`);
          const wrong = Object.keys(felt.answers).filter((status) => status !== '200' && status !== '503');
          if (wrong.length > 0) faults.push(`calls were answered with ${wrong.join(', ')}`);
          return felt.answers;
        },
        async judge() {
          const recoveryMs = await recovery(scene);
          if (!isReadyTextRight) faults.push(`/readyz did not name ${store}`);
          if (recoveryMs === null) faults.push(`calls were refused ${RECOVERY_LIMIT_MS} ms after the return`);
          faults.push(...(await bookFaults(scene)));
          return { notes: [callsWhileStopped, `calls succeed ${recoveryMs} ms after the return`], faults };
        },
      };
    },
  };
}

/** @returns after what time cached calls succeed again, or null if they do not in time. */
async function recovery({ secondAccount }: Scene): Promise<number | null> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < RECOVERY_LIMIT_MS) {
    let calls = 0;
    const { answers } = await secondAccount.experience(() => ++calls > 10);
    if (Object.keys(answers).join() === '200') return Math.round(performance.now() - startedAt);
  }
  return null;
}

async function bookFaults({ target }: Scene): Promise<string[]> {
  const giveUpAt = performance.now() + BOOKS_LIMIT_MS;
  for (;;) {
    const faults = await auditLedger(target.database);
    // Calls that were under way need a moment to end.
    const lasting = faults.filter(({ promise }) => promise !== 'every call ends');
    if (faults.length === 0) return [];
    if (lasting.length > 0 || performance.now() > giveUpAt)
      return faults.slice(0, 5).map(({ promise, row }) => `${promise}: ${JSON.stringify(row)}`);
    await pause(500);
  }
}
