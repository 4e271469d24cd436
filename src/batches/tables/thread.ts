import { type MessagePort, parentPort } from 'node:worker_threads';
import { writeTable } from '../../results/tables/write-table.ts';
import type { FromTable, StartTable, ToTable } from './messages.ts';
import { type CallLines, type ResultTable, rowsOf, shapeOf } from './result-table.ts';

// Writes tables of batches. Parsing results of several gigabytes must not block the event loop of a gateway.
parentPort?.on('message', ({ table, port }: StartTable) => void write(table, port));

async function write(table: ResultTable, port: MessagePort): Promise<void> {
  const post = (message: FromTable) => port.postMessage(message);
  let onCall: (call: CallLines | null) => void = () => {};
  let onMore = () => {};
  let isClosed = false;
  port.on('message', (message: ToTable) => {
    if (message.kind === 'call') onCall(message.call);
    else onMore();
  });
  port.on('close', () => {
    isClosed = true;
    onCall(null);
    onMore();
  });

  async function* calls(): AsyncGenerator<CallLines> {
    while (!isClosed) {
      const next = new Promise<CallLines | null>((resolve) => {
        onCall = resolve;
      });
      post({ kind: 'next' });
      const call = await next;
      if (!call) return;
      yield call;
    }
  }

  try {
    for await (const bytes of writeTable(table.format, shapeOf(table), rowsOf(table, calls()))) {
      if (isClosed) return;
      const more = new Promise<void>((resolve) => {
        onMore = resolve;
      });
      post({ kind: 'bytes', bytes });
      await more;
    }
    post({ kind: 'end' });
  } catch (error) {
    post({
      kind: 'failed',
      message: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  } finally {
    // The thread can write the next table.
    parentPort?.postMessage(null);
  }
}
