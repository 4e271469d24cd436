import { stringifyJson } from '../src/json.ts';
import type { QueuedOperation } from '../src/operations/define.ts';
import { type AnswerMeta, INLINE_LIMIT_BYTES } from '../src/results/answer.ts';
import type { Answer } from '../src/results/answer-store.ts';
import { pack } from '../src/results/compression.ts';
import { outlineOf } from '../src/results/outline.ts';

/** What an operation answers, ready to be stored. */
export interface Content {
  contentType: string;
  compressible: boolean;
  units: number;
  /** The bytes, which say whether the data came from the cache. */
  body(fromCache: boolean): Buffer;
  /** What the data hold, in short. */
  outline?(): string;
}

/** @param staleSince when the data were fetched, where they are older than they should be. Unix milliseconds, like `now`. */
export function present(
  operation: QueuedOperation,
  input: unknown,
  found: ReadonlyMap<string, unknown>,
  { now, staleSince }: { now: number; staleSince: number | null },
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
  const metadata = metadataText({
    ...presented.metadata,
    ...(staleSince === null ? {} : staleness(staleSince, now)),
  });
  return {
    contentType: 'application/json; charset=utf-8',
    compressible: true,
    units: price.settle ? price.settle(input, presented) : units,
    body: (fromCache) =>
      Buffer.from(
        `{"code":"0000","msg":"success","data":{"fromCache":${fromCache}${rest === '{}' ? '}' : `,${rest.slice(1)}`}${metadata}}`,
      ),
    outline: () => outlineOf(presented.data),
  };
}

/** The content as it is kept, compressed where that pays. */
export async function packed(
  { contentType, compressible, body: bodyOf, outline }: Content,
  facts: Pick<AnswerMeta, 'version' | 'fetchedAt' | 'fromCache' | 'units' | 'tokens'>,
): Promise<Answer> {
  const body = bodyOf(facts.fromCache);
  const { encoding, bytes } = compressible
    ? await pack(body, 6)
    : { encoding: 'identity' as const, bytes: body };
  // Who is to be spared the whole of it is told this much, and gateways do not parse what is so large.
  const summary = outline && body.length > INLINE_LIMIT_BYTES ? { outline: outline() } : {};
  return { meta: { ...facts, contentType, encoding, size: body.length, ...summary }, body: bytes };
}

function metadataText(metadata: Record<string, unknown>): string {
  return Object.keys(metadata).length > 0 ? `,"metadata":${stringifyJson(metadata)}` : '';
}

/** What an answer says that is older than it should be, because upstream refuses. */
function staleness(fetchedAt: number, now: number): Record<string, unknown> {
  const ageSeconds = Math.floor((now - fetchedAt) / 1000);
  return { stale: true, fetchedAt: new Date(fetchedAt).toISOString(), ageSeconds };
}
