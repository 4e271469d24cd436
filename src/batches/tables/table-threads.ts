import { on } from 'node:events';
import { Readable } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/clock.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { SoukError } from '../../platform/errors.ts';
import { isCompiled, projectFile } from '../../platform/project.ts';
import type { FromTable, StartTable, ToTable } from './messages.ts';
import type { CallLines, ResultTable } from './result-table.ts';

/** Writes tables of batches, each in a thread of its own: a table that needs too much memory ends alone. */
export interface TableThreads {
  /**
   * Returns the bytes of a table. Calls are read as the reader reads bytes; a reader that is too slow gets an error.
   * @throws SoukError TOO_MANY_OPEN.
   */
  write(accountId: number, table: ResultTable, calls: AsyncIterable<CallLines>): Readable;
  close(): Promise<void>;
}

/** The most tables of a process, and of an account in it, that are written at the same time. */
export const MOST_TABLES = 4;
export const MOST_OF_ACCOUNT = 2;

const THREAD_FILE = projectFile(`src/batches/tables/thread.${isCompiled ? 'js' : 'mjs'}`);

/** The memory of a thread. The results of a call are about 20 MB at most. */
const LIMITS = { maxOldGenerationSizeMb: 192 };

/** A thread waits for its reader for a minute in all, and a millisecond more for as many bytes as the reader has read. */
export const LONGEST_WAIT_MS = MINUTE_MS;
const BYTES_PER_MS = 64;

interface Thread {
  worker: Worker;
  /** The account of the table that it writes; null: it is idle. */
  accountId: number | null;
}

export function createTableThreads(clock: Clock): TableThreads {
  const threads = new Set<Thread>();
  const isIdle = ({ accountId }: Thread) => accountId === null;

  /** Returns an idle thread, or starts one. @throws SoukError TOO_MANY_OPEN. */
  function take(accountId: number): Worker {
    const busy = [...threads].filter((thread) => !isIdle(thread));
    const own = busy.filter((thread) => thread.accountId === accountId);
    if (own.length >= MOST_OF_ACCOUNT || busy.length >= MOST_TABLES) throw tooMany(own.length, busy.length);
    const thread = [...threads].find(isIdle) ?? start();
    thread.accountId = accountId;
    return thread.worker;
  }

  function start(): Thread {
    const worker = new Worker(THREAD_FILE, { resourceLimits: LIMITS });
    const thread: Thread = { worker, accountId: null };
    threads.add(thread);
    // The table that it was writing fails: its port closes.
    worker.on('error', () => {});
    worker.once('exit', () => threads.delete(thread));
    // It has finished a table, or given it up because its reader has gone. One thread waits for the next table.
    worker.on('message', () => {
      thread.accountId = null;
      if ([...threads].filter(isIdle).length === 1) return;
      threads.delete(thread);
      void worker.terminate();
    });
    return thread;
  }

  return {
    write(accountId, table, calls) {
      const worker = take(accountId);
      const { port1, port2 } = new MessageChannel();
      worker.postMessage({ table, port: port2 } satisfies StartTable, [port2]);
      const patience = createPatience(clock, () =>
        readable.destroy(new Error('a table was not read in time')),
      );
      const bytes = bytesFrom(port1, calls, patience);
      const readable: Readable = Readable.from(bytes, { objectMode: false, highWaterMark: 1 });
      return readable.once('close', () => {
        patience.end(0);
        port1.close();
      });
    },
    async close() {
      await Promise.all([...threads].map(({ worker }) => worker.terminate()));
    },
  };
}

function tooMany(own: number, all: number): SoukError {
  const message =
    own >= MOST_OF_ACCOUNT
      ? `${own} tables of this account are being written; at most ${MOST_OF_ACCOUNT} are written at the same time.`
      : `The gateway is writing ${all} tables, which is the most at the same time.`;
  return new SoukError('TOO_MANY_OPEN', { message, retryAfterSeconds: 5 });
}

interface Patience {
  /** The reader has to read. */
  begin(): void;
  /** The reader has read. */
  end(bytes: number): void;
}

/** Limits how long a thread waits for a reader. The wait begins now. @param onEnd called when the reader has been too slow. */
function createPatience(clock: Clock, onEnd: () => void): Patience {
  let leftMs = LONGEST_WAIT_MS;
  let since = 0;
  let cancel = () => {};
  const patience = {
    begin() {
      since = clock.now();
      cancel = clock.after(leftMs, onEnd, 'reader of a table');
    },
    end(bytes: number) {
      cancel();
      leftMs = Math.min(LONGEST_WAIT_MS, leftMs - (clock.now() - since) + bytes / BYTES_PER_MS);
    },
  };
  patience.begin();
  return patience;
}

async function* bytesFrom(
  port: MessagePort,
  calls: AsyncIterable<CallLines>,
  patience: Patience,
): AsyncGenerator<Uint8Array> {
  patience.end(0);
  const post = (message: ToTable) => port.postMessage(message);
  const source = calls[Symbol.asyncIterator]();
  try {
    for await (const [message] of on(port, 'message', { close: ['close'] }) as AsyncIterable<[FromTable]>) {
      if (message.kind === 'next') {
        const { done, value } = await source.next();
        post({ kind: 'call', call: done ? null : value });
      } else if (message.kind === 'bytes') {
        patience.begin();
        yield message.bytes;
        patience.end(message.bytes.length);
        post({ kind: 'more' });
      } else if (message.kind === 'end') return;
      else throw new Error(`a table was not written: ${message.message}`);
    }
    throw new Error('the thread of tables ended');
  } finally {
    port.close();
    await source.return?.();
  }
}
