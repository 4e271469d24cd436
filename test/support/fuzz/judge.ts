import type { Baseline } from './baseline.ts';
import { NAMES_ITS_CALLS } from './named-calls.ts';
import type { ProviderRefusals } from './provider-refusals.ts';
import type { RawFuzz } from './raw-requests.ts';
import type { FuzzRequest } from './request.ts';
import type { FuzzAnswer } from './send.ts';
import type { StarvationWatch } from './starvation.ts';

/** A request of the fuzz, by the part of the service that it is for. */
export type Shot = { kind: 'api' | 'page' | 'mcp'; request: FuzzRequest } | { kind: 'raw'; raw: RawFuzz };

/** A promise that was broken, with the request that broke it. */
export interface FuzzFault {
  promise: string;
  /** Number of the request; the same seed sends it again. */
  index: number;
  request: string;
  answer: string;
}

export interface FuzzReport {
  /** How often each kind of request was answered with each status. */
  answers: Record<string, Record<string, number>>;
  slowestMs: number;
  faults: FuzzFault[];
}

/** Checks each answer, and adds faults to the report. */
export interface Judge {
  answer(index: number, shot: Exclude<Shot, { kind: 'raw' }>, answer: FuzzAnswer): void;
  /** @param statuses of all answers on the connection. */
  raw(index: number, raw: RawFuzz, statuses: readonly number[]): void;
}

/** The provider takes this many times as long for a search or a list as for a request of the baseline. */
const TIMES_BASELINE_OF_WORK = 5;

/** The refusal while a store is slow. Refusals by a limit have status 429. */
const BUSY = /"code":"BUSY"/;

/** The demo provider fails only if its settings say so, but it refuses some requests that the service passes on. */
const UPSTREAM_ERROR = /"code":"UPSTREAM_ERROR"/;

/** Forms with passwords. */
const HASHES = /^\/+(sign-|reset-password|account\/settings)/i;

/** JSON-RPC's code of an internal error. */
const INTERNAL = /"code":-32603/;

/**
 * @param slowMs an answer may take this much longer than the slowest request of the baseline at the same moment.
 * @param timesBaseline an answer of a gateway may take that plus this many times the baseline.
 */
export function createJudge(
  report: FuzzReport,
  deps: {
    baseline: Baseline;
    starvation: StarvationWatch;
    provider: ProviderRefusals;
    slowMs: number;
    timesBaseline: number;
  },
): Judge {
  const { baseline, starvation, provider, slowMs, timesBaseline } = deps;

  /** How long an answer may take. */
  function allowedMs(shot: Exclude<Shot, { kind: 'raw' }>, answer: FuzzAnswer): number {
    const [from, until] = [answer.startedAt, answer.startedAt + answer.tookMs];
    // A call of a worker includes the time of the queue and the provider; hashing a password is slow.
    const isWork =
      answer.headers['x-job-id'] !== undefined ||
      shot.kind === 'mcp' ||
      answer.status === 0 ||
      HASHES.test(shot.request.path) ||
      NAMES_ITS_CALLS.test(shot.request.path);
    const machineMs = isWork
      ? TIMES_BASELINE_OF_WORK * baseline.longestMs('worker', from, until)
      : timesBaseline * baseline.longestMs('gateway', from, until);
    return slowMs + machineMs + starvation.waitedMs(from, until);
  }

  return {
    answer(index, shot, answer) {
      const { status, text, startedAt, tookMs } = answer;
      count(report, shot.kind, status);
      report.slowestMs = Math.max(report.slowestMs, tookMs);
      const faultOf = (promise: string) =>
        fault(
          promise,
          index,
          written(shot.request),
          `${status} in ${Math.round(tookMs)} ms: ${text.slice(0, 300)}`,
        );
      const broken = (promise: string) => report.faults.push(faultOf(promise));
      // If a store is slow for the gateway of the baseline too, the machine is slow, and the service may refuse.
      const isRefused =
        status === 503 &&
        BUSY.test(text) &&
        baseline.longestMs('gateway', startedAt, startedAt + tookMs) > slowMs / 2;
      if (status === 502 && UPSTREAM_ERROR.test(text)) provider.note(text, faultOf('answers no 5xx'));
      else if (status >= 500 && !isRefused) broken('answers no 5xx');
      if (shot.kind === 'mcp' && INTERNAL.test(text)) broken('answers no internal error to an agent');
      if (tookMs > allowedMs(shot, answer)) broken('answers in time');
    },

    raw(index, { kind, bytes, hidesRequest }, statuses) {
      count(report, 'raw', statuses[0] ?? 0);
      const broken = (promise: string) =>
        report.faults.push(
          fault(promise, index, `${kind}: ${bytes.toString('latin1').slice(0, 300)}`, statuses.join(' ')),
        );
      // 501 and 505 refuse a method, an encoding or a version, which HTTP servers may do.
      if (statuses.some((status) => status >= 500 && status !== 501 && status !== 505))
        broken('answers no 5xx');
      if (hidesRequest && statuses.includes(200)) broken('serves no request that is hidden in a body');
    },
  };
}

function count(report: FuzzReport, kind: string, status: number): void {
  const answers = report.answers[kind] ?? {};
  report.answers[kind] = answers;
  const name = status === 0 ? 'none' : String(status);
  answers[name] = (answers[name] ?? 0) + 1;
}

export function fault(promise: string, index: number, request: string, answer: string): FuzzFault {
  return { promise, index, request, answer };
}

function written({ method, path, headers, body, as }: FuzzRequest): string {
  const content = body === undefined ? '' : ` ${JSON.stringify(body.toString('latin1').slice(0, 600))}`;
  return `${method} ${path.slice(0, 600)} (${as}) ${JSON.stringify(headers)}${content}`;
}
