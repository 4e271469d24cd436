import { type Clock, every } from './clock.ts';
import type { Logger } from './log.ts';

/** Collects values by key in memory, and writes them every few seconds. A process that dies loses those of its last seconds. */
interface WriteBehind<Key, Value> {
  add(key: Key, value: Value): void;
  /** Writes what has been collected. Never rejects: values that cannot be written are kept for the next time. */
  flush(): Promise<void>;
  /** Stops, and writes what has been collected. */
  close(): Promise<void>;
}

interface WriteBehindOptions<Key, Value> {
  /** What is written, for the log. */
  what: string;
  everyMs: number;
  /** The most keys that wait. Values of further keys are dropped. */
  most: number;
  /** Returns one value for two of the same key. Default: the later one. */
  merge?(earlier: Value, later: Value): Value;
  write(values: ReadonlyMap<Key, Value>): Promise<unknown>;
}

export function writeBehind<Key, Value>(
  clock: Clock,
  log: Logger,
  { what, everyMs, most, merge = (_, later) => later, write }: WriteBehindOptions<Key, Value>,
): WriteBehind<Key, Value> {
  let waiting = new Map<Key, Value>();

  function add(key: Key, value: Value): void {
    const earlier = waiting.get(key);
    if (earlier !== undefined) waiting.set(key, merge(earlier, value));
    else if (waiting.size < most) waiting.set(key, value);
  }

  async function flush(): Promise<void> {
    if (waiting.size === 0) return;
    const written = waiting;
    waiting = new Map();
    try {
      await write(written);
    } catch (error) {
      log.debug({ err: error }, `failed to write ${what}, will retry`);
      const since = waiting;
      waiting = written;
      for (const [key, value] of since) add(key, value);
    }
  }

  const stop = every(clock, everyMs, flush);
  return {
    add,
    flush,
    async close() {
      await stop();
      await flush();
    },
  };
}
