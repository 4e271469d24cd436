import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { HistoryEvent } from './judge/history.ts';

/** Writes the history of a run into a file, so that a run of a million calls needs no more memory than a short one. */
export interface History {
  readonly file: string;
  note(event: HistoryEvent): void;
  close(): Promise<void>;
}

/** @param file a path without a file. */
export function openHistory(file: string): History {
  const stream = createWriteStream(file);
  return {
    file,
    note: (event) => void stream.write(`${JSON.stringify(event)}\n`),
    async close() {
      stream.end();
      await finished(stream);
    },
  };
}
