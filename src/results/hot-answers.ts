import { LRUCache } from 'lru-cache';
import type { StoredAnswer } from './answer.ts';

/** How long an answer is served from memory after Redis was asked for it. */
export const HOT_MS = 1_000;

const MAX_BYTES = 32 * 2 ** 20;

/** About the size of an entry without its body. */
const ENTRY_BYTES = 1_024;

/** Keeps the small answers that several requests look up at the same time, so that Redis is asked for each once a second. */
export interface HotAnswers {
  /** Returns an answer that is in memory, or the promise of one. */
  find(id: string): StoredAnswer | Promise<StoredAnswer | null>;
  /** Forgets an answer that was replaced. */
  forget(id: string): void;
}

interface LookUp {
  found: Promise<StoredAnswer | null>;
  isShared: boolean;
}

/** @param now milliseconds of a monotonic clock. */
export function createHotAnswers(
  lookUp: (id: string) => Promise<StoredAnswer | null>,
  now: () => number = () => performance.now(),
): HotAnswers {
  const hot = new LRUCache<string, StoredAnswer>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ body }) => ENTRY_BYTES + (body?.length ?? 0),
    ttl: HOT_MS,
    ttlResolution: 0,
    perf: { now },
  });
  const lookUps = new Map<string, LookUp>();

  async function findCold(id: string): Promise<StoredAnswer | null> {
    const start = now();
    const current: LookUp = { found: lookUp(id), isShared: false };
    lookUps.set(id, current);
    try {
      const found = await current.found;
      // The body is a part of what was read from the connection, which would stay in memory as a whole.
      if (found?.body && current.isShared)
        hot.set(id, { ...found, body: Buffer.from(found.body) }, { start });
      return found;
    } finally {
      lookUps.delete(id);
    }
  }

  return {
    find(id) {
      const known = hot.get(id);
      if (known) return known;
      const current = lookUps.get(id);
      if (!current) return findCold(id);
      current.isShared = true;
      return current.found;
    },
    forget: (id) => void hot.delete(id),
  };
}
