import type { Readable } from 'node:stream';
import { indentJson } from '../../../platform/json.ts';
import { type ApiCaller, type ApiEnvelope, type ApiHeaders, streamApi } from '../../own-api.ts';
import { SHOWN_BYTES } from '../answer-viewer.tsx';
import { envelopeOf } from '../passed-on.ts';
import type { TryRequest } from './try-request.ts';

/** What came of a call. */
export type TryOutcome =
  /** The answer is there: its text where it is small, its job where it has one. */
  | {
      kind: 'answered';
      status: number;
      headers: ApiHeaders;
      text: string | null;
      jobId: string | null;
      isPicture: boolean;
    }
  /** It takes longer; its job brings the answer. */
  | { kind: 'accepted'; jobId: string }
  | { kind: 'refused'; status: number; headers: ApiHeaders; envelope: ApiEnvelope };

/** How long a page is waited for; what takes longer is shown as the job it is. */
const PATIENCE_SECONDS = 20;

/** Makes a call. An answer that is too large to be shown is neither held nor read here. */
export async function tryCall(caller: ApiCaller, { method, path, body }: TryRequest): Promise<TryOutcome> {
  const headers = { prefer: `wait=${PATIENCE_SECONDS}` };
  const answer = await streamApi(caller, { method, path, headers, body });
  const { status } = answer;
  if (status >= 400)
    return { kind: 'refused', status, headers: answer.headers, envelope: await envelopeOf(answer.body) };
  const jobId = answer.headers['x-job-id'] === undefined ? null : String(answer.headers['x-job-id']);
  if (status === 202 && jobId !== null) {
    answer.body.destroy();
    return { kind: 'accepted', jobId };
  }
  const isPicture = String(answer.headers['content-type']).startsWith('image/');
  const text = isPicture ? null : await textOf(answer.body);
  answer.body.destroy();
  return { kind: 'answered', status, headers: answer.headers, text, jobId, isPicture };
}

/** The text of a small body, a field a line; null of any other. */
async function textOf(body: Readable): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > SHOWN_BYTES) return null;
    chunks.push(chunk);
  }
  return indentJson(Buffer.concat(chunks).toString());
}
