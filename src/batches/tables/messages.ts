import type { CallLines, ResultTable } from './result-table.ts';

/** What a gateway tells a process that writes tables, one at a time. */
export type ToTable =
  /** Starts a table. */
  | { kind: 'table'; table: ResultTable }
  /** The next call; null: there are no further ones. */
  | { kind: 'call'; call: CallLines | null }
  /** The reader wants the next bytes. */
  | { kind: 'more' }
  /** The reader has gone. */
  | { kind: 'gone' };

export type FromTable =
  /** The table needs the next call. */
  | { kind: 'next' }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'end' }
  | { kind: 'failed'; message: string }
  /** The last message about a table: the process can write the next one. */
  | { kind: 'free' };
