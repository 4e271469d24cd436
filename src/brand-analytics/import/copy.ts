import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

/** Lines on their way into a table by COPY. Nothing is written faster than the database takes it. */
export interface Copy {
  write(lines: string): Promise<void>;
  end(): Promise<void>;
  /** Gives up; the transaction fails. */
  abort(): Promise<void>;
}

/** Starts COPY in its text format: columns separated by tabs, one row a line. */
export function startCopy(client: pg.ClientBase, target: string): Copy {
  const stream = client.query(copyFrom(`copy ${target} from stdin`));
  // An error that comes while nothing is being written is found by the next write.
  const failures: Error[] = [];
  const ended = finished(stream).catch((error: Error) => void failures.push(error));
  const check = () => {
    for (const failure of failures) throw failure;
  };
  return {
    async write(lines) {
      check();
      if (!stream.write(lines)) await Promise.race([once(stream, 'drain'), ended]);
      check();
    },
    async end() {
      stream.end();
      await ended;
      check();
    },
    async abort() {
      stream.destroy(new Error('the import was given up'));
      await ended;
    },
  };
}

/** A text as COPY wants it. Line ends and tabs become blanks: no title needs them. */
export function copyText(text: string): string {
  return PLAIN.test(text) ? text : text.replace(CONTROLS, ' ').replaceAll('\\', '\\\\');
}

/** Printable ASCII without the backslash: nearly all of what comes by, and quickly told. */
const PLAIN = /^[ -[\]-~]*$/;
const CONTROLS = /[\p{Cc}\p{Cs}]+/gu;
