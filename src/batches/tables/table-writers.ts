import { type ChildProcess, spawn } from 'node:child_process';
import { on } from 'node:events';
import { Readable } from 'node:stream';
import type { Clock } from '../../platform/clock.ts';
import { MINUTE_MS } from '../../platform/durations.ts';
import { SoukError } from '../../platform/errors.ts';
import { programArguments } from '../../platform/project.ts';
import type { FromTable, ToTable } from './messages.ts';
import type { CallLines, ResultTable } from './result-table.ts';

/** The most tables of a gateway, and of an account in it, that are written at the same time. */
export const MOST_TABLES = 4;
export const MOST_OF_ACCOUNT = 2;

/** The memory of a process: for old objects, and for each half of the new ones. The results of a call are about 20 MB at most. */
const LIMITS = ['--max-old-space-size=192', '--max-semi-space-size=8'];

/** A process waits for its reader for a minute in all, and a millisecond more for as many bytes as the reader has read. */
export const LONGEST_WAIT_MS = MINUTE_MS;
const BYTES_PER_MS = 64;

interface Writer {
  child: ChildProcess;
  /** The account of the table that it writes; null: it is idle. */
  accountId: number | null;
}

const isIdle = ({ accountId }: Writer) => accountId === null;

export type TableWriters = ReturnType<typeof createTableWriters>;

/**
 * Writes tables of batches, each in a process of its own: a table that needs too much memory ends alone. In a thread, parsing a
 * large JSON beyond the limit of the thread would end the gateway.
 */
export function createTableWriters(clock: Clock) {
  const writers = new Set<Writer>();

  /** Returns an idle process, or starts one. @throws SoukError TOO_MANY_OPEN. */
  function take(accountId: number): Writer {
    const busy = [...writers].filter((writer) => !isIdle(writer));
    const own = busy.filter((writer) => writer.accountId === accountId);
    if (own.length >= MOST_OF_ACCOUNT || busy.length >= MOST_TABLES) throw tooMany(own.length, busy.length);
    const writer = [...writers].find(isIdle) ?? start();
    writer.accountId = accountId;
    return writer;
  }

  function start(): Writer {
    const child = spawn(process.execPath, programArguments('src/batches/tables/table-program.ts', LIMITS), {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    });
    const writer: Writer = { child, accountId: null };
    writers.add(writer);
    // The table that it was writing fails.
    child.on('error', () => writers.delete(writer));
    child.once('exit', () => writers.delete(writer));
    child.on('message', ({ kind }: FromTable) => {
      if (kind === 'free') free(writer);
    });
    return writer;
  }

  /** Keeps one idle process for the next table. */
  function free(writer: Writer): void {
    writer.accountId = null;
    if ([...writers].filter(isIdle).length === 1) return;
    writers.delete(writer);
    writer.child.kill('SIGKILL');
  }

  return {
    /**
     * Returns the bytes of a table. Calls are read as the reader reads bytes; a reader that is too slow gets an error.
     * @throws SoukError TOO_MANY_OPEN.
     */
    write(accountId: number, table: ResultTable, calls: AsyncIterable<CallLines>): Readable {
      const writer = take(accountId);
      const { child } = writer;
      let state: 'unread' | 'writing' | 'over' = 'unread';
      const patience = createPatience(clock, () =>
        readable.destroy(new Error('a table was not read in time')),
      );
      const onOver = () => {
        state = 'over';
      };
      async function* bytes(): AsyncGenerator<Uint8Array> {
        state = 'writing';
        patience.end(0);
        yield* bytesFrom(child, { table, calls, onOver }, patience);
      }
      const readable: Readable = Readable.from(bytes(), { objectMode: false, highWaterMark: 1 });
      return readable.once('close', () => {
        patience.end(0);
        if (state === 'unread') free(writer);
        // The process may write the next table by now.
        if (state === 'writing' && child.connected) child.send({ kind: 'gone' } satisfies ToTable, () => {});
      });
    },
    async close(): Promise<void> {
      for (const { child } of writers) child.kill('SIGKILL');
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

/** Limits how long a process waits for a reader. The wait begins now. @param onEnd called when the reader has been too slow. */
function createPatience(clock: Clock, onEnd: () => void) {
  let leftMs = LONGEST_WAIT_MS;
  let since = 0;
  let cancel = () => {};
  const patience = {
    /** The reader has to read. */
    begin() {
      since = clock.now();
      cancel = clock.after(leftMs, onEnd, 'reader of a table');
    },
    /** The reader has read. */
    end(bytes: number) {
      cancel();
      leftMs = Math.min(LONGEST_WAIT_MS, leftMs - (clock.now() - since) + bytes / BYTES_PER_MS);
    },
  };
  patience.begin();
  return patience;
}

async function* bytesFrom(
  child: ChildProcess,
  { table, calls, onOver }: { table: ResultTable; calls: AsyncIterable<CallLines>; onOver(): void },
  patience: ReturnType<typeof createPatience>,
): AsyncGenerator<Uint8Array> {
  const messages = on(child, 'message', { close: ['exit'] }) as AsyncIterable<[FromTable]>;
  const send = (message: ToTable) => child.send(message, () => {});
  const source = calls[Symbol.asyncIterator]();
  try {
    send({ kind: 'table', table });
    for await (const [message] of messages) {
      if (message.kind === 'end' || message.kind === 'failed') onOver();
      if (message.kind === 'next') {
        const { done, value } = await source.next();
        send({ kind: 'call', call: done ? null : value });
      } else if (message.kind === 'bytes') {
        patience.begin();
        yield message.bytes;
        patience.end(message.bytes.length);
        send({ kind: 'more' });
      } else if (message.kind === 'end') return;
      else if (message.kind === 'failed') throw new Error(`a table was not written: ${message.message}`);
    }
    throw new Error('the process that wrote a table ended');
  } finally {
    await source.return?.();
  }
}
