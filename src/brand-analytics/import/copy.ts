import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');

/** The start and the end of COPY's binary format: the signature, no flags, no extension; a row of -1 columns. */
const HEADER = Buffer.concat([SIGNATURE, Buffer.alloc(8)]);
const TRAILER = Buffer.from([0xff, 0xff]);

const INT4_OID = 23;
const FIRST_BYTES = 1_048_576;

/** A character takes at most three bytes of UTF-8: characters of four bytes count as two in JavaScript. */
const BYTES_A_CHARACTER = 3;

/** Builds rows in COPY's binary format, column by column, in a buffer that is reused. */
export class BinaryRows {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #view = viewOf(this.#bytes);
  #length = 0;

  begin(columns: number): void {
    this.#room(2);
    this.#view.setInt16(this.#length, columns);
    this.#length += 2;
  }

  int2(value: number): void {
    this.#room(6);
    this.#view.setInt32(this.#length, 2);
    this.#view.setInt16(this.#length + 4, value);
    this.#length += 6;
  }

  int4(value: number): void {
    this.#room(8);
    this.#view.setInt32(this.#length, 4);
    this.#view.setInt32(this.#length + 4, value);
    this.#length += 8;
  }

  /** Writes a value from 0 to 2^53. */
  int8(value: number): void {
    this.#room(12);
    const high = Math.floor(value / 2 ** 32);
    this.#view.setInt32(this.#length, 8);
    this.#view.setInt32(this.#length + 4, high);
    this.#view.setUint32(this.#length + 8, value - high * 2 ** 32);
    this.#length += 12;
  }

  text(value: string): void {
    this.#room(4 + value.length * BYTES_A_CHARACTER);
    const written = this.#bytes.write(value, this.#length + 4);
    this.#view.setInt32(this.#length, written);
    this.#length += 4 + written;
  }

  /** Writes an integer[] that is not empty and has no nulls. */
  int4s(values: readonly number[]): void {
    this.#room(24 + values.length * 8);
    const view = this.#view;
    let at = this.#length;
    // The fields are: bytes, dimensions, whether there are nulls, type, length, first subscript.
    view.setInt32(at, 20 + values.length * 8);
    view.setInt32(at + 4, 1);
    view.setInt32(at + 8, 0);
    view.setInt32(at + 12, INT4_OID);
    view.setInt32(at + 16, values.length);
    view.setInt32(at + 20, 1);
    at += 24;
    for (let i = 0; i < values.length; i += 1) {
      view.setInt32(at, 4);
      view.setInt32(at + 4, values[i] ?? 0);
      at += 8;
    }
    this.#length = at;
  }

  /** Returns a copy of the rows written so far, and empties the buffer. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Sends rows to a table by COPY, at the speed at which the database accepts them. */
interface Copy {
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
