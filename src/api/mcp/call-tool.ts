import { checkMaxUnits } from '../../billing/admission.ts';
import { findCall, notePolled } from '../../billing/calls.ts';
import { inputOn, jsonAnswerOf, type QueuedOperation } from '../../operations/define.ts';
import { queuedOperation } from '../../operations/index.ts';
import type { Database } from '../../platform/db/pool.ts';
import { SoukError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log.ts';
import { isStoreDown } from '../../platform/outage.ts';
import { type AnswerStore, OWN_ANSWER } from '../../results/answer-store.ts';
import { LONGEST_POLL_SECONDS } from '../job-view.ts';
import { callOptionsSchema, parseAs } from '../operations/call-options.ts';
import type { GatewayAnswer, Requester } from '../self-client.ts';
import { seriesLimitsOf } from './compact-series.ts';
import { dataOf, type FollowDeps, followBatch, followJob } from './follow.ts';
import { PARTS_TOOL, partOf } from './parts.ts';
import type { CallContext, ToolResult } from './protocol.ts';
import { resourceOf } from './resources.ts';
import {
  type CallSummary,
  type Form,
  type ResultContext,
  refusalResult,
  resultOf,
  structured,
} from './results.ts';
import { type Arguments, isDecoded, type Tool } from './tool.ts';

/** How long a tool waits for a call. Clients give up after a minute by default. */
export const PATIENCE_SECONDS = 40;

/** How long a call whose progress is reported is waited for before its job is followed. Most calls end earlier. */
const UNFOLLOWED_SECONDS = 1;

export interface ToolCaller extends Requester {
  accountId: number;
}

export interface ToolCallDeps extends FollowDeps {
  database: Database;
  answers: AnswerStore;
  log: Logger;
  /** The largest result that is returned in full. */
  budgetTokens: number;
}

/** Calls a tool. An error becomes a result with the code and message of the address. */
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
    if (isStoreDown(error)) return refusalResult(new SoukError('BUSY', { cause: error }));
    deps.log.error({ err: error, tool: tool.listed.name }, 'tool call failed');
    return refusalResult(new SoukError('INTERNAL', { cause: error }));
  }
}

const optionsSchema = callOptionsSchema.pick({ dryRun: true, maxUnits: true });

/** Applies dryRun and maxUnits if the address does not. @returns a result if the call must not be made, otherwise null. */
async function priced(
  deps: ToolCallDeps,
  caller: ToolCaller,
  tool: Tool,
  args: Arguments,
): Promise<ToolResult | null> {
  const { pricedBy, requestOf, listed } = tool;
  if (pricedBy === 'address') return null;
  const { dryRun, maxUnits } = parseAs(optionsSchema, {
    dryRun: args.dryRun ?? undefined,
    maxUnits: args.maxUnits ?? null,
  });
  if (!dryRun && maxUnits === null) return null;
  // Invalid arguments are refused in a dry run, too.
  requestOf(args);
  let units = 0;
  if (pricedBy !== 'free') {
    const answer = await deps.send(caller, pricedBy.requestOf(args));
    if (answer.status >= 400) return resultOf(answer, contextOf(deps, caller, tool, NOTHING_CALLED));
    units = pricedBy.unitsOf(await dataOf(answer));
  }
  checkMaxUnits('The call costs', units, maxUnits);
  return dryRun ? structured({ dryRun: true, operation: listed.name, units, admitted: true }) : null;
}

const NOTHING_CALLED = {
  call: { unitsConsumed: 0 },
  resource: null,
  partsFrom: null,
  part: null,
  form: null,
  input: null,
};

async function called(
  deps: ToolCallDeps,
  caller: ToolCaller,
  tool: Tool,
  args: Arguments,
  { onProgress, signal }: CallContext,
): Promise<ToolResult> {
  const { send } = deps;
  // Invalid arguments are refused before any progress is reported.
  let request = tool.requestOf(args);
  const part = tool.hasParts ? partOf(args) : null;
  const isInForm = isDecoded(args);
  const series = (tool.operation ?? tool.hasParts) ? seriesLimitsOf(args) : {};
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
  // Not respond-async, which has other limits.
  const prefer = `wait=${isFollowed ? UNFOLLOWED_SECONDS : PATIENCE_SECONDS}`;
  let answer = await send(caller, request, tool.isJob ? { prefer } : {});
  let call = summaryOf(answer);
  if (isFollowed && answer.status === 202 && call.jobId) {
    const accepted = await dataOf(answer);
    const job = await followJob(following, call.jobId);
    const result = await askAfter(deps, caller, `/api/jobs/${call.jobId}/result`, job?.error != null);
    if (!result) return jobResult(job ?? accepted, call);
    answer = result;
    // If this call joined another one, the other one pays for the job.
    call = call.deduplicated ? call : chargedSummaryOf(answer);
  }
  if (following && tool.follows === 'batch' && answer.status < 300) {
    const data = await dataOf(answer);
    // A dry run creates no batch.
    if (typeof data.batchId !== 'string') return structured({ ...data, _call: call });
    const batch = await followBatch(following, data.batchId);
    const last = await askAfter(deps, caller, `/api/batches/${data.batchId}`, false);
    if (!last) return structured({ ...data, ...batch, _call: call });
    answer = last;
  }
  if (answer.status === 202 && tool.follows === 'job') return jobResult(await dataOf(answer), call);
  const answered =
    answer.status === 200 ? await answeredBy(deps, caller, tool, args, request.parameters) : null;
  const ofJob = { id: call.jobId, ...(isInForm ? {} : { decode: false }) };
  const partsOfJob = call.jobId ? { tool: PARTS_TOOL, arguments: ofJob } : null;
  return resultOf(
    answer,
    contextOf(deps, caller, tool, {
      call,
      resource: resourceOf(request.url, call.jobId),
      partsFrom: tool.hasParts ? { tool: tool.listed.name, arguments: args } : partsOfJob,
      part,
      input: tool.operation ? (answered?.input ?? null) : null,
      form: isInForm ? { series, ...formOf(answered) } : null,
    }),
  );
}

/** An operation with the canonical input of a call. */
interface Answered {
  operation: QueuedOperation;
  input: unknown;
}

/** Returns what a tool has answered: its own operation, or that of a stored answer. */
async function answeredBy(
  { clock, database }: ToolCallDeps,
  { accountId }: ToolCaller,
  { operation, hasParts }: Tool,
  args: Arguments,
  parameters: Arguments = {},
): Promise<Answered | null> {
  if (operation?.kind === 'queued') {
    // The address has read texts, from which some other values can be read, too.
    const { data } = operation.params.safeParse(parameters);
    return { operation, input: data === undefined ? null : inputOn(operation, data, clock.now()) };
  }
  const call = hasParts ? await findCall(database, accountId, String(args.id)) : null;
  const stored = call && queuedOperation(call.operation);
  return call && stored ? { operation: stored, input: call.input } : null;
}

function formOf(answered: Answered | null): Omit<Form, 'series'> {
  const toolData = answered?.operation.toolData;
  if (!answered || !toolData) return { toolData: null, recordsPath: null };
  const { operation, input } = answered;
  return {
    toolData: (data) => (data.dryRun ? data : toolData(data, input ?? {})),
    recordsPath: jsonAnswerOf(operation)?.records?.path ?? null,
  };
}

/** Returns a job instead of its result: it has not ended, or the result cannot be fetched now. */
function jobResult(job: { finishedAt?: unknown }, call: CallSummary): ToolResult {
  const hint = `The job has ${job.finishedAt ? '' : 'not '}ended. To get its result, call jobs_get_result with this jobId as id and a wait of up to ${PATIENCE_SECONDS}. jobs_get returns its status; jobs_cancel cancels it.`;
  return structured({ ...job, hint, _call: call });
}

/** Limits the argument `wait` to some seconds; an invalid value stays invalid. */
function waitingAtMost(seconds: number, args: Arguments): Arguments {
  const wait = Number(args.wait ?? 0);
  return wait > seconds && wait <= LONGEST_POLL_SECONDS ? { ...args, wait: seconds } : args;
}

/**
 * Fetches the job or batch that was followed. The job or batch exists already, so its caller must receive its id even if
 * the gateway is closing or has lost its stores, or the account has reached a limit on requests.
 * @param hasFailed whether the job has ended with an error, which is then the answer.
 * @returns null if the address cannot answer.
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
    // 502 and 504 are results: the errors of jobs that failed upstream. No job fails with 429.
    if (answer.status !== 429 && (hasFailed || ![500, 503].includes(answer.status))) return answer;
    answer.body.destroy();
  } catch (error) {
    if (!(error instanceof SoukError) && !isStoreDown(error)) throw error;
  }
  return null;
}

/** The summary of a call whose result was fetched from its job. */
function chargedSummaryOf(answer: GatewayAnswer): CallSummary {
  return { ...summaryOf(answer), unitsConsumed: Number(answer.header('x-units-charged') ?? 0) };
}

function summaryOf({ header }: GatewayAnswer): CallSummary {
  const cache = header('x-cache');
  const jobId = header('x-job-id');
  return {
    unitsConsumed: Number(header('x-units-consumed') ?? 0),
    ...(cache ? { cache } : {}),
    ...(jobId ? { jobId } : {}),
    ...(header('x-deduplicated') ? { deduplicated: true as const } : {}),
    ...(header('x-livemode') ? { livemode: false as const } : {}),
  };
}

function contextOf(
  { database, answers, log, budgetTokens }: ToolCallDeps,
  { accountId }: ToolCaller,
  { price, narrowing, listed: { name } }: Tool,
  {
    input,
    ...about
  }: Pick<ResultContext, 'call' | 'resource' | 'partsFrom' | 'part' | 'form'> & { input: unknown },
): ResultContext {
  const { jobId } = about.call;
  return {
    ...about,
    tool: { name, price, narrowing },
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
        await notePolled(database, { accountId, callId: jobId }, input);
        await answers.keepGiven({ accountId, callId: jobId }, call?.answer ?? null);
      } catch (error) {
        // The call has succeeded and is charged; if the answer is lost, reading its link runs the call again.
        log.warn({ err: error, jobId }, 'failed to keep an answer');
      }
    },
  };
}
