import type { CompletionMap } from '../../../jobs/wait.ts';
import type { BatchView } from '../../batches/batch.ts';
import type { Clock } from '../../platform/clock.ts';
import type { JobView } from '../job-view.ts';
import { type GatewayAnswer, type Requester, readAtMost, type SendRequest } from '../self-client.ts';
import { PARSED_BYTES } from './parts.ts';
import type { CallContext } from './protocol.ts';

/** The interval at which a job or batch is read again. The end of a job is reported immediately. */
const LOOK_EVERY_SECONDS = 1;

export interface FollowDeps {
  clock: Clock;
  completions: CompletionMap;
  send: SendRequest;
}

interface Following extends FollowDeps {
  caller: Requester;
  onProgress: NonNullable<CallContext['onProgress']>;
  signal: AbortSignal;
  /** How long to follow at most. */
  patienceMs: number;
}

/** Reports a job's progress until it has ended, or until `patienceMs` has passed. @returns the job as last seen. */
export async function followJob(following: Following, jobId: string): Promise<JobView | null> {
  const tell = teller(following);
  let seen: JobView | null = null;
  await follow(following, async (isFirst) => {
    const wait = isFirst ? 0 : LOOK_EVERY_SECONDS;
    const job = await viewAt<JobView>(following, `/api/jobs/${jobId}?wait=${wait}`);
    if (job === REFUSED) return pause(following);
    seen = job ?? seen;
    if (!job || job.finishedAt !== null) return true;
    const message = job.position === null ? job.state : `${job.state}, ${job.position} ahead`;
    await tell({ progress: job.progress, total: 100, message });
    return false;
  });
  return seen;
}

/**
 * Reports a batch's progress in items until it has ended, or until `patienceMs` has passed.
 * @returns the batch as last seen.
 */
export async function followBatch(following: Following, batchId: string): Promise<BatchView | null> {
  const tell = teller(following);
  let seen: BatchView | null = null;
  await follow(following, async (isFirst) => {
    if (!isFirst) await pause(following);
    const batch = await viewAt<BatchView>(following, `/api/batches/${batchId}`);
    if (batch === REFUSED) return false;
    if (!batch) return true;
    seen = batch;
    const { done, failed, cancelled, items } = batch.counts;
    const message = batch.waiting?.message ?? batch.state;
    await tell({ progress: done + failed + cancelled, total: items, message });
    return batch.finishedAt !== null;
  });
  return seen;
}

async function follow(
  { clock, completions, signal, patienceMs }: Following,
  look: (isFirst: boolean) => Promise<boolean>,
): Promise<void> {
  const endsAt = clock.now() + patienceMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      if (await look(isFirst)) return;
    } catch (error) {
      // A closing gateway returns what it has seen last.
      if (completions.closed) return;
      throw error;
    }
    if (signal.aborted || completions.closed || clock.now() >= endsAt) return;
  }
}

/** Progress must grow with every notification, so unchanged progress is not reported again. */
function teller({ onProgress }: Following): Following['onProgress'] {
  let last = -1;
  return async (progress) => {
    if (progress.progress <= last) return;
    last = progress.progress;
    // The call continues without this caller, because other callers may wait for it.
    await onProgress(progress).catch(() => {});
  };
}

async function pause({ clock }: Following): Promise<false> {
  await new Promise<void>((resolve) => clock.after(LOOK_EVERY_SECONDS * 1000, resolve));
  return false;
}

/** Instead of a view, if the account has reached a limit on requests: the job or batch is still there. */
const REFUSED = Symbol('refused');

async function viewAt<View>({ send, caller }: Following, url: string): Promise<View | typeof REFUSED | null> {
  const answer = await send(caller, { method: 'GET', url });
  if (answer.status < 300) return dataOf<View>(answer);
  answer.body.destroy();
  return answer.status === 429 ? REFUSED : null;
}

/** The data of an answer that shows a job, a batch, a schedule or a tracker. */
export async function dataOf<Data = Record<string, unknown>>(answer: GatewayAnswer): Promise<Data> {
  const { bytes } = await readAtMost(answer, PARSED_BYTES);
  return (JSON.parse(bytes.toString('utf8')) as { data: Data }).data;
}
