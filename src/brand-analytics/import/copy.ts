import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { HEADER, TRAILER } from './binary-rows.ts';

/** Sends rows to a table by COPY, at the speed at which the database accepts them. */
export interface Copy {
  /** Writes complete rows. */
  write(rows: Uint8Array): Promise<void>;
  end(): Promise<void>;
  /** Aborts the COPY; the transaction fails. */
  abort(): Promise<void>;
}

/** Starts COPY in its binary format, which takes PostgreSQL a third of the time of arrays as text. */
export function startCopy(client: pg.ClientBase, target: string): Copy {
  const stream = client.query(copyFrom(`copy ${target} from stdin (format binary)`));
  // An error that occurs between writes makes the next write fail.
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
      stream.destroy(new Error('the import was aborted'));
      await ended;
    },
  };
}
