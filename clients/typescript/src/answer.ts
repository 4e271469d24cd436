import { parseJson } from './json.ts';

/** The headers of an answer. */
export interface AnswerMeta {
  status: number;
  requestId: string | null;
  /** The job of the call, whose result can be read again for a day. */
  jobId: string | null;
  /** Units that the call cost. */
  units: number;
  /** Whether all data came from the cache. */
  isCached: boolean;
  /** Whether the call joined an identical call of the last five minutes, at no charge. */
  isDeduplicated: boolean;
  /** Calls left in this minute; null where calls are not limited. */
  callsLeft: number | null;
}

export interface DataWithMeta<Data> {
  data: Data;
  meta: AnswerMeta;
}

/** A promise of the data of an answer. */
export interface Answer<Data> extends Promise<Data> {
  /** Returns the data and what the headers say: units, job, request. */
  withMeta(): Promise<DataWithMeta<Data>>;
}

/** A promise of a page, and an iterator over the entries of this page and all further ones. */
export interface ListAnswer<Page, Entry> extends Answer<Page>, AsyncIterable<Entry> {}

export function answerOf<Data>(result: Promise<DataWithMeta<Data>>): Answer<Data> {
  const data = result.then((found) => found.data);
  const withMeta = () => {
    // The caller waits for `result` instead.
    data.catch(() => {});
    return result;
  };
  return Object.assign(data, { withMeta });
}

/** @param next returns the page at a cursor. */
export function listAnswerOf<Page, Entry>(
  first: Answer<Page>,
  entries: string,
  next: (cursor: string) => Answer<Page>,
): ListAnswer<Page, Entry> {
  async function* iterate(): AsyncGenerator<Entry> {
    let page = (await first) as Record<string, unknown>;
    for (;;) {
      yield* page[entries] as Entry[];
      if (typeof page.nextCursor !== 'string') return;
      page = (await next(page.nextCursor)) as Record<string, unknown>;
    }
  }
  return Object.assign(first, { [Symbol.asyncIterator]: iterate });
}

/** Reads the data of an answer: JSON in its envelope, a table as a file, or a picture as bytes. */
export async function readAnswer(response: Response): Promise<DataWithMeta<unknown>> {
  const meta = metaOf(response);
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('image/')) return { data: new Uint8Array(await response.arrayBuffer()), meta };
  if (!type.startsWith('application/json'))
    return { data: new File([await response.arrayBuffer()], fileNameOf(response), { type }), meta };
  return { data: (parseJson(await response.text()) as { data: unknown }).data, meta };
}

/** Returns the name that the service gives to a file. */
export function fileNameOf({ headers }: Response): string {
  return /filename="([^"/\\]+)"/.exec(headers.get('content-disposition') ?? '')?.[1] ?? 'souk';
}

function metaOf({ status, headers }: Response): AnswerMeta {
  const left = /r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1];
  return {
    status,
    requestId: headers.get('x-request-id'),
    jobId: headers.get('x-job-id'),
    units: Number(headers.get('x-units-charged') ?? headers.get('x-units-consumed') ?? 0),
    isCached: headers.get('x-cache') === 'HIT',
    isDeduplicated: headers.get('x-deduplicated') === 'true',
    callsLeft: left === undefined ? null : Number(left),
  };
}
