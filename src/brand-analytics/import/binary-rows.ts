const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');

/** What COPY's binary format begins and ends with: the signature, no flags, no extension; a row of -1 columns. */
export const HEADER = Buffer.concat([SIGNATURE, Buffer.alloc(8)]);
export const TRAILER = Buffer.from([0xff, 0xff]);

const INT4_OID = 23;
const FIRST_BYTES = 1_048_576;

/** A character takes three bytes of UTF-8 at most: those that take four are two to JavaScript. */
const BYTES_A_CHARACTER = 3;

/** Rows in COPY's binary format, written one column after the other into one piece of memory that is used again. */
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

  /** From 0 to 2^53. */
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

  /** An integer[] without nulls that is not empty. */
  int4s(values: readonly number[]): void {
    this.#room(24 + values.length * 8);
    const view = this.#view;
    let at = this.#length;
    // Bytes, dimensions, whether there are nulls, type, length, first subscript.
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

  /** Hands out what was written, in memory of its own, and begins anew. */
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
