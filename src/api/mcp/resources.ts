import { formOf } from '../../operations/params/answer-form.ts';
import { mediaTypeOf } from '../../operations/tables/formats.ts';
import type { JobView } from '../job-view.ts';
import { type GatewayAnswer, type Requester, readAtMost, type SendRequest } from '../self-client.ts';
import {
  InvalidResource,
  type ListedResource,
  type ResourceContents,
  type ResourceTemplate,
} from './protocol.ts';

// Resources of the Model Context Protocol: results of jobs and batches, in slices.

const ADDRESS = /^\/api\/(jobs\/[0-9a-f-]{36}\/result|batches\/[0-9a-f-]{36}\/results)(?:\?|$)/i;
const URI =
  /^souk:\/\/(jobs\/[0-9a-f-]{36}\/result|batches\/[0-9a-f-]{36}\/results)(?:\?offset=(\d{1,12}))?$/i;

/** Maximum offset of a slice. No resource is larger, and the bytes before a slice have to be read and discarded. */
const LARGEST_OFFSET = 2 ** 30;

export const RESOURCE_TEMPLATES: readonly ResourceTemplate[] = [
  {
    uriTemplate: 'souk://jobs/{jobId}/result{?offset}',
    name: 'Result of a job',
    description: 'The answer of a call, in slices; each slice names the next one',
  },
  {
    uriTemplate: 'souk://batches/{batchId}/results{?offset}',
    name: 'Results of a batch',
    description: 'One JSON object per line for each item, in slices; each slice names the next one',
  },
];

/** Returns the resource that has the answer of an address; null if there is none. */
export function resourceOf(url: string, jobId: string | undefined): string | null {
  const named = ADDRESS.exec(url)?.[1];
  if (named !== undefined) return `souk://${named}`;
  return jobId === undefined ? null : `souk://jobs/${jobId}/result`;
}

/**
 * Lists the newest results of an account that are still stored.
 * @param areKept returns for each job whether its answer is stored.
 * @throws Error with the message of the address.
 */
export async function listResources(
  send: SendRequest,
  caller: Requester,
  areKept: (jobIds: readonly string[]) => Promise<boolean[]>,
): Promise<ListedResource[]> {
  const answer = await send(caller, { method: 'GET', url: '/api/jobs?state=done&limit=20' });
  const { msg, data } = JSON.parse(await textOf(answer));
  if (answer.status !== 200) throw new Error(msg);
  const { jobs } = data as { jobs: JobView[] };
  const kept = await areKept(jobs.map(({ jobId }) => jobId));
  return jobs
    .filter((_, i) => kept[i])
    .map(({ jobId, operation, createdAt, params }) => ({
      uri: `souk://jobs/${jobId}/result`,
      name: `${operation} of ${createdAt}`,
      mimeType: operation === 'market.graphimage' ? 'image/png' : typeIn(formOf(params)),
    }));
}

function typeIn({ format }: ReturnType<typeof formOf>): string {
  return format ? mediaTypeOf(format) : 'application/json';
}

/** Bytes of other types, such as those of a picture or a workbook, are not characters. */
const TEXT_TYPE = /^(?:text\/|application\/(?:json|x-ndjson)(?:;|$))/;

export function isTextType(contentType: string): boolean {
  return TEXT_TYPE.test(contentType);
}

/**
 * Reads a slice of a result, and names the next slice.
 * @param sliceBytes maximum size of a slice.
 * @throws Error with the message of the address.
 */
export async function readResource(
  send: SendRequest,
  caller: Requester,
  uri: string,
  sliceBytes: number,
): Promise<ResourceContents[]> {
  const [, path, from = '0'] = URI.exec(uri) ?? [];
  if (path === undefined) return [];
  if (Number(from) > LARGEST_OFFSET) throw new InvalidResource(`offset must be at most ${LARGEST_OFFSET}.`);
  const answer = await send(caller, { method: 'GET', url: `/api/${path}` });
  if (answer.status === 404) return [];
  if (answer.status === 202) throw new InvalidResource('The job has not ended; jobs_get returns its status.');
  if (answer.status !== 200) throw new Error(JSON.parse(await textOf(answer)).msg);
  const mimeType = answer.header('content-type')?.split(';')[0] ?? 'application/json';
  const isText = isTextType(mimeType);
  const slice = await sliceOf(answer, Number(from), sliceBytes, isText);
  const next = slice.isLast ? null : `souk://${path}?offset=${slice.end}`;
  const contents = {
    uri,
    mimeType,
    _meta: { offset: slice.begin, end: slice.end, size: answer.size, next },
    ...(isText ? { text: slice.bytes.toString('utf8') } : { blob: slice.bytes.toString('base64') }),
  } as ResourceContents;
  // Not every host shows its agent the metadata in addition to the text.
  return next === null
    ? [contents]
    : [contents, { uri: next, mimeType: 'text/plain', text: `Continued at ${next}` }];
}

interface Slice {
  bytes: Buffer;
  /** Offsets of its first byte, and of the first byte after it. */
  begin: number;
  end: number;
  isLast: boolean;
}

/** Discards the bytes before the slice; the bytes after it are not produced. */
async function sliceOf(
  { body }: GatewayAnswer,
  from: number,
  length: number,
  isText: boolean,
): Promise<Slice> {
  const pieces: Buffer[] = [];
  let position = 0;
  let taken = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    const begin = Math.max(0, from - position);
    position += piece.length;
    if (begin >= piece.length) continue;
    pieces.push(piece.subarray(begin));
    taken += piece.length - begin;
    if (taken > length) break;
  }
  const all = Buffer.concat(pieces);
  const isLast = all.length <= length;
  const begin = isText ? afterContinuation(all, 0) : 0;
  const cut = isLast ? all.length : isText ? beforeCharacter(all, length) : length;
  const bytes = all.subarray(begin, Math.max(begin, cut));
  return { bytes, begin: from + begin, end: from + Math.max(begin, cut), isLast };
}

/** Returns the position of the first whole character. */
function afterContinuation(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isContinuation(bytes[at])) at += 1;
  return at;
}

/** Returns the last position up to `at` at which a character begins. */
function beforeCharacter(bytes: Buffer, at: number): number {
  let end = at;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return end;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

async function textOf(answer: GatewayAnswer): Promise<string> {
  return (await readAtMost(answer, 65_536)).bytes.toString('utf8');
}
