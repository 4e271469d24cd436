import type { FastifyRequest } from 'fastify';
import { type GatewayAnswer, type GatewayRequest, readAtMost } from '../../../api/self-client.ts';
import { indentJson } from '../../../platform/json.ts';
import { SHOWN_BYTES } from '../answer-viewer.tsx';
import { type ApiEnvelope, envelopeOf, streamApi } from '../customer-api.ts';

export interface Answered extends Pick<GatewayAnswer, 'status' | 'header'> {
  kind: 'answered';
  /** Indented JSON; null for a picture, or if the answer is too large. */
  text: string | null;
  jobId: string | null;
  isPicture: boolean;
}

export interface Refused extends Pick<GatewayAnswer, 'status' | 'header'> {
  kind: 'refused';
  envelope: ApiEnvelope;
}

/** The call continues as a job. */
export interface Accepted {
  kind: 'accepted';
  jobId: string;
}

/** A call that takes longer is shown as its job. */
const WAIT_SECONDS = 20;

/** Makes a call. An answer that is too large to be shown is not read. */
export async function tryCall(
  request: FastifyRequest,
  call: GatewayRequest,
): Promise<Answered | Accepted | Refused> {
  const answer = await streamApi(request, call, { prefer: `wait=${WAIT_SECONDS}` });
  const { status, header } = answer;
  if (status >= 400) return { kind: 'refused', status, header, envelope: await envelopeOf(answer) };
  const jobId = header('x-job-id') ?? null;
  if (status === 202 && jobId !== null) {
    answer.body.destroy();
    return { kind: 'accepted', jobId };
  }
  const isPicture = header('content-type')?.startsWith('image/') ?? false;
  const text = isPicture ? null : await textOf(answer);
  answer.body.destroy();
  return { kind: 'answered', status, header, text, jobId, isPicture };
}

async function textOf(answer: GatewayAnswer): Promise<string | null> {
  const { bytes, isWhole } = await readAtMost(answer, SHOWN_BYTES);
  return isWhole ? indentJson(bytes.toString()) : null;
}
