import { writeTable } from '../../results/tables/write-table.ts';
import type { FromTable, ToTable } from './messages.ts';
import { type CallLines, type ResultTable, rowsOf, shapeOf } from './result-table.ts';

// Writes tables of batches for a gateway: parsing results of several gigabytes must not block its event loop, nor end it when they
// need too much memory. The gateway ends this process; without it, nothing keeps this process alive.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});

let onCall: (call: CallLines | null) => void = () => {};
let onMore = () => {};
let isGone = false;

process.on('message', (message: ToTable) => {
  if (message.kind === 'table') void write(message.table);
  else if (message.kind === 'call') onCall(message.call);
  else {
    isGone ||= message.kind === 'gone';
    onMore();
    if (isGone) onCall(null);
  }
});

function post(message: FromTable): void {
  process.send?.(message);
}

async function write(table: ResultTable): Promise<void> {
  isGone = false;
  try {
    for await (const bytes of writeTable(table.format, shapeOf(table), rowsOf(table, calls()))) {
      if (isGone) break;
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
  }
  post({ kind: 'free' });
}

async function* calls(): AsyncGenerator<CallLines> {
  while (!isGone) {
    const next = new Promise<CallLines | null>((resolve) => {
      onCall = resolve;
    });
    post({ kind: 'next' });
    const call = await next;
    if (!call) return;
    yield call;
  }
}
