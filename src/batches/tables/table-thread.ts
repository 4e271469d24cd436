import { on } from 'node:events';
import { Readable } from 'node:stream';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { isCompiled, projectFile } from '../../platform/project.ts';
import type { FromTable, StartTable, ToTable } from './messages.ts';
import type { CallLines, ResultTable } from './result-table.ts';

/** Writes tables of batches in a thread, which starts with the first table. */
export interface TableThread {
  /** Returns the bytes of a table. Calls are read as the reader reads bytes. */
  write(table: ResultTable, calls: AsyncIterable<CallLines>): Readable;
  close(): Promise<void>;
}

const THREAD_FILE = projectFile(`src/batches/tables/thread.${isCompiled ? 'js' : 'mjs'}`);

/** The memory of the thread. The results of a call are about 20 MB at most, and several tables are written at the same time. */
const LIMITS = { maxOldGenerationSizeMb: 192 };

export function createTableThread(): TableThread {
  let worker: Worker | null = null;

  /** Starts the thread, if it does not run. */
  function running(): Worker {
    if (worker) return worker;
    const started = new Worker(THREAD_FILE, { resourceLimits: LIMITS });
    // The tables that it was writing fail: their ports close.
    started.on('error', () => {});
    started.once('exit', () => {
      if (worker === started) worker = null;
    });
    worker = started;
    return started;
  }

  return {
    write(table, calls) {
      const { port1, port2 } = new MessageChannel();
      running().postMessage({ table, port: port2 } satisfies StartTable, [port2]);
      return Readable.from(bytesFrom(port1, calls), { objectMode: false, highWaterMark: 1 });
    },
    async close() {
      await worker?.terminate();
    },
  };
}

async function* bytesFrom(port: MessagePort, calls: AsyncIterable<CallLines>): AsyncGenerator<Uint8Array> {
  const post = (message: ToTable) => port.postMessage(message);
  const source = calls[Symbol.asyncIterator]();
  try {
    for await (const [message] of on(port, 'message', { close: ['close'] }) as AsyncIterable<[FromTable]>) {
      if (message.kind === 'next') {
        const { done, value } = await source.next();
        post({ kind: 'call', call: done ? null : value });
      } else if (message.kind === 'bytes') {
        yield message.bytes;
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
