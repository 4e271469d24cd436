import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { HEADER, TRAILER } from './binary-rows.ts';

/** Rows on their way into a table by COPY. Nothing is written faster than the database takes it. */
export interface Copy {
  /** Rows that begin and end in these bytes. */
  write(rows: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Gives up; the transaction fails. */
  abort(): Promise<void>;
}

/** Starts COPY in its binary format, which takes PostgreSQL a third of the time that arrays as text do. */
export function startCopy(client: pg.ClientBase, target: string): Copy {
  const stream = client.query(copyFrom(`copy ${target} from stdin (format binary)`));
  // An error that comes while nothing is being written is found by the next write.
  const failures: Error[] = [];
  const ended = finished(stream).catch((error: Error) => void failures.push(error));
  const check = () => {
    for (const failure of failures) throw failure;
  };
  stream.write(HEADER);
  return {
    async write(rows) {
      check();
      if (!stream.write(rows)) await Promise.race([once(stream, 'drain'), ended]);
      check();
    },
    async end() {
      stream.end(TRAILER);
      await ended;
      check();
    },
    async abort() {
      stream.destroy(new Error('the import was given up'));
      await ended;
    },
  };
}
