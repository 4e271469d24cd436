import type { MessagePort } from 'node:worker_threads';
import type { CallLines, ResultTable } from './result-table.ts';

/** Starts a table. Its calls and its bytes travel through a port of its own. */
export interface StartTable {
  table: ResultTable;
  port: MessagePort;
}

export type ToTable =
  /** The next call; null: there are no further ones. */
  | { kind: 'call'; call: CallLines | null }
  /** The reader wants the next bytes. */
  | { kind: 'more' };

export type FromTable =
  /** The table needs the next call. */
  | { kind: 'next' }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'end' }
  | { kind: 'failed'; message: string };
