import { stringifyJson } from '../src/json.ts';
import type { QueuedOperation } from '../src/operations/define.ts';

/** What an operation answers, ready to be stored. */
export interface Content {
  contentType: string;
  compressible: boolean;
  units: number;
  /** The bytes, which say whether the data came from the cache. */
  body(fromCache: boolean): Buffer;
}

export function present(
  operation: QueuedOperation,
  input: unknown,
  found: ReadonlyMap<string, unknown>,
  now: number,
): Content {
  const { respond, price } = operation;
  const units = price.quote(input);
  if (respond.type === 'png') {
    const [picture] = found.values();
    return { contentType: 'image/png', compressible: false, units, body: () => picture as Buffer };
  }
  const presented = respond.present(found, input, { now });
  // Serialised once; the two variants of a body differ in one word near its beginning.
  const rest = stringifyJson({ ...presented.data });
  const metadata = presented.metadata ? `,"metadata":${stringifyJson(presented.metadata)}` : '';
  return {
    contentType: 'application/json; charset=utf-8',
    compressible: true,
    units: price.settle ? price.settle(input, presented) : units,
    body: (fromCache) =>
      Buffer.from(
        `{"code":"0000","msg":"success","data":{"fromCache":${fromCache}${rest === '{}' ? '}' : `,${rest.slice(1)}`}${metadata}}`,
      ),
  };
}
