import { checkMaxUnits } from '../../../jobs/submit.ts';
import { findCall } from '../../billing/calls.ts';
import type { Database } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { isStoreAway } from '../../platform/outage.ts';
import { INLINE_LIMIT_BYTES } from '../../results/answer.ts';
import { type AnswerStore, OWN_ANSWER } from '../../results/answer-store.ts';
import { LONGEST_POLL_SECONDS } from '../endpoints/jobs/own-job.ts';
import { callOptionsSchema } from '../operations/call-options.ts';
import { parseAs } from '../request-input.ts';
import { type GatewayAnswer, type Requester, readAtMost } from '../self-client.ts';
import { type FollowDeps, followBatch, followJob } from './follow.ts';
import type { CallContext, ToolResult } from './protocol.ts';
import { resourceOf } from './resources.ts';
import { type CallSummary, type ResultContext, refusalResult, resultOf, structured } from './results.ts';
import type { Arguments, Tool } from './tool.ts';

/** How long a call is waited for. Clients give up after a minute unless told otherwise. */
export const PATIENCE_SECONDS = 40;

export interface ToolCaller extends Requester {
  accountId: number;
}

export interface ToolCallDeps extends FollowDeps {
  database: Database;
  answers: AnswerStore;
  log: Logger;
  /** The largest result that is passed on as it is. */
  budgetTokens: number;
}

/** Calls a tool. Whatever goes wrong is a result that says so, with the code and message the address has for it. */
export async function callTool(
  deps: ToolCallDeps,
  caller: ToolCaller,
  tool: Tool,
  args: Arguments,
  context: CallContext,
): Promise<ToolResult> {
  try {
    return (await priced(deps, caller, tool, args)) ?? (await called(deps, caller, tool, args, context));
  } catch (error) {
    if (error instanceof SoukError) return refusalResult(error);
    if (isStoreAway(error)) return refusalResult(new SoukError('BUSY', { cause: error }));
    deps.log.error({ err: error, tool: tool.listed.name }, 'a tool call failed');
    return refusalResult(new SoukError('INTERNAL', { cause: error }));
  }
}

const optionsSchema = callOptionsSchema.pick({ dryRun: true, maxUnits: true });

/** Heeds dryRun and maxUnits where the address does not. @returns a result where the call is not to be made. */
async function priced(
  deps: ToolCallDeps,
  caller: ToolCaller,
  { pricedBy, requestOf, listed: { name } }: Tool,
  args: Arguments,
): Promise<ToolResult | null> {
  if (pricedBy === 'address') return null;
  const { dryRun, maxUnits } = parseAs(optionsSchema, {
    dryRun: args.dryRun ?? undefined,
    maxUnits: args.maxUnits ?? null,
  });
  if (!dryRun && maxUnits === null) return null;
  // What is wrong with the other arguments is said in any case.
  requestOf(args);
  let units = 0;
  if (pricedBy !== 'nobody') {
    const answer = await deps.send(caller, pricedBy.requestOf(args));
    if (answer.status >= 400) return resultOf(answer, contextOf(deps, caller, NOTHING_CALLED));
    units = pricedBy.unitsOf(await dataOf(answer));
  }
  checkMaxUnits(units, maxUnits);
  return dryRun ? structured({ dryRun: true, operation: name, units, admitted: true }) : null;
}

const NOTHING_CALLED = { narrowing: [], call: { unitsConsumed: 0 }, resource: null };

async function called(
  deps: ToolCallDeps,
  caller: ToolCaller,
  tool: Tool,
  args: Arguments,
  { onProgress, signal }: CallContext,
): Promise<ToolResult> {
  const { send } = deps;
  // Wrong arguments are refused before anything is followed.
  let request = tool.requestOf(args);
  const following = onProgress && {
    ...deps,
    caller,
    onProgress,
    signal,
    patienceMs: PATIENCE_SECONDS * 1000,
  };
  if (tool.follows === 'job' && !tool.isJob) {
    if (following) await followJob(following, String(args.id));
    request = tool.requestOf(waitingAtMost(following ? 0 : PATIENCE_SECONDS, args));
  }
  const isFollowed = following && tool.isJob;
  const prefer = isFollowed ? 'respond-async' : `wait=${PATIENCE_SECONDS}`;
  let answer = await send(caller, request, tool.isJob ? { prefer } : {});
  let call = summaryOf(answer);
  if (isFollowed && answer.status === 202 && call.jobId) {
    const accepted = await dataOf(answer);
    const job = await followJob(following, call.jobId);
    const result = await askAfter(deps, caller, `/api/jobs/${call.jobId}/result`, job?.error != null);
    if (!result) return jobResult(job ?? accepted, call);
    answer = result;
    // The job may have been paid by the call that this one joined.
    call = call.deduplicated ? call : summaryOf(answer);
  }
  if (following && tool.follows === 'batch' && answer.status < 300) {
    const data = await dataOf(answer);
    // A dry run makes none.
    if (typeof data.batchId !== 'string') return structured({ ...data, _call: call });
    const batch = await followBatch(following, data.batchId);
    const last = await askAfter(deps, caller, `/api/batches/${data.batchId}`, false);
    if (!last) return structured({ ...data, ...batch, _call: call });
    answer = last;
  }
  if (answer.status === 202 && tool.follows === 'job') return jobResult(await dataOf(answer), call);
  return resultOf(
    answer,
    contextOf(deps, caller, {
      narrowing: tool.narrowing,
      call,
      resource: resourceOf(request.url, call.jobId),
    }),
  );
}

/** What stands for the result of a job that goes on. */
function jobResult(job: object, call: CallSummary): ToolResult {
  const hint = `This takes longer. jobs_get_result with this jobId as id, and wait up to ${PATIENCE_SECONDS}, brings the result; jobs_get tells how it is going, jobs_cancel ends it.`;
  return structured({ ...job, hint, _call: call });
}

/** The same arguments with a wait that is not beyond these seconds; one that is wrong stays wrong. */
function waitingAtMost(seconds: number, args: Arguments): Arguments {
  const wait = Number(args.wait ?? 0);
  return wait > seconds && wait <= LONGEST_POLL_SECONDS ? { ...args, wait: seconds } : args;
}

/**
 * Asks for what has been followed, which was made already: so its caller must hear of it even from a gateway that
 * closes, or has lost its stores.
 * @param hasFailed whether it is known to have ended with an error, which is then the answer.
 * @returns null where there is no answer to be had.
 */
async function askAfter(
  { completions, send }: ToolCallDeps,
  caller: ToolCaller,
  url: string,
  hasFailed: boolean,
): Promise<GatewayAnswer | null> {
  if (completions.closed) return null;
  try {
    const answer = await send(caller, { method: 'GET', url });
    // Of a job that has failed upstream 502 and 504 tell.
    if (hasFailed || ![500, 503].includes(answer.status)) return answer;
    answer.body.destroy();
  } catch (error) {
    if (!(error instanceof SoukError) && !isStoreAway(error)) throw error;
  }
  return null;
}

/** The data of a small answer: views of jobs and batches. */
async function dataOf(answer: GatewayAnswer): Promise<Record<string, unknown>> {
  const { bytes } = await readAtMost(answer, INLINE_LIMIT_BYTES);
  return (JSON.parse(bytes.toString('utf8')) as { data: Record<string, unknown> }).data;
}

function summaryOf({ header }: GatewayAnswer): CallSummary {
  const cache = header('x-cache');
  const jobId = header('x-job-id');
  return {
    unitsConsumed: Number(header('x-units-consumed') ?? 0),
    ...(cache ? { cache } : {}),
    ...(jobId ? { jobId } : {}),
    ...(header('x-deduplicated') ? { deduplicated: true as const } : {}),
  };
}

function contextOf(
  { database, answers, log, budgetTokens }: ToolCallDeps,
  { accountId }: ToolCaller,
  about: Pick<ResultContext, 'narrowing' | 'call' | 'resource'>,
): ResultContext {
  const { jobId } = about.call;
  return {
    ...about,
    budgetTokens,
    async findOutline() {
      const call = jobId ? await findCall(database, accountId, jobId) : null;
      const answer = jobId && call ? await answers.load(jobId, call.answer ?? OWN_ANSWER) : null;
      return answer?.meta.outline ?? null;
    },
    async keep() {
      if (!jobId) return;
      try {
        const call = await findCall(database, accountId, jobId);
        await answers.keepGiven(jobId, call?.answer ?? null);
      } catch (error) {
        // The call is done and paid for; its link may lead to an answer that has to be made again.
        log.warn({ err: error, jobId }, 'an answer could not be kept');
      }
    },
  };
}
