import { type Answer, answerOf, type DataWithMeta, readAnswer } from './answer.ts';
import { SoukError } from './errors.ts';
import type { Schemas } from './generated/operations.ts';
import type { RequestOptions } from './method-types.ts';
import { type Request, retryAfterMs, type Transport } from './transport.ts';
import type { Units } from './units.ts';

/** How long the service waits for the end of a job before it answers 202. */
const WAIT_SECONDS = 30;
const RESULT_TIMEOUT_MS = 45_000;
const JOB_TIMEOUT_MS = 30_000;
const PAUSE_MS = 1_000;

/** How a result is wanted: by default as data, otherwise as a file. */
type ResultOptions = Pick<RequestOptions, 'signal' | 'headers'> & { format?: unknown; table?: unknown };

type Read = DataWithMeta<unknown> & { wasLost: boolean; pauseMs: number };

/** Sends requests, follows jobs to their results, and counts units. */
export class Calls {
  readonly transport: Transport;
  readonly #units: Units;

  constructor(transport: Transport, units: Units) {
    this.transport = transport;
    this.#units = units;
  }

  /** Sends a request that is free. */
  free(request: Request): Answer<unknown> {
    return answerOf(this.#read(request));
  }

  /** Makes a call. If the service answers with its job, waits for the result of the job. */
  call(request: Request): Answer<unknown> {
    return answerOf(this.#call(request));
  }

  /** Makes a call as a job, and returns the job. */
  job(request: Request): Answer<unknown> {
    const created = this.#read(request).then((answer) => {
      if (isOwn(answer)) this.#units.open(answer.meta);
      return answer;
    });
    return answerOf(created);
  }

  /** Waits for the end of a job, and returns its result. @throws SoukError the error of its call. */
  result(jobId: string, options: ResultOptions = {}): Answer<unknown> {
    return answerOf(this.#result(jobId, options));
  }

  async #call(request: Request): Promise<DataWithMeta<unknown>> {
    const answer = await this.#read(request);
    const { data, meta } = answer;
    const { signal, headers, query } = request;
    if (meta.status === 202 && meta.jobId) {
      if (isOwn(answer)) this.#units.open(meta);
      const result = await this.#result(meta.jobId, {
        signal,
        headers,
        format: query?.format,
        table: query?.table,
      });
      return isOwn(answer) ? result : { ...result, meta: { ...result.meta, isDeduplicated: true, units: 0 } };
    }
    const joinsOwn =
      meta.isDeduplicated && answer.wasLost && meta.jobId && !this.#units.isCounted(meta.jobId);
    const units = joinsOwn ? await this.#unitsOf(meta.jobId ?? '', request) : meta.units;
    this.#units.add({ ...meta, units });
    return { data, meta: { ...meta, units } };
  }

  async #result(
    jobId: string,
    { signal, headers, format, table }: ResultOptions,
  ): Promise<DataWithMeta<unknown>> {
    const request: Request = {
      method: 'GET',
      path: `/api/jobs/${encodeURIComponent(jobId)}/result`,
      query: { wait: WAIT_SECONDS, format, table },
      repeats: 'always',
      timeoutMs: RESULT_TIMEOUT_MS,
      signal,
      headers,
    };
    for (;;) {
      const { data, meta, pauseMs } = await this.#read(request);
      if (meta.status !== 202) {
        this.#units.end(jobId, meta.units);
        return { data, meta: { ...meta, jobId } };
      }
      await this.transport.settings.sleep(pauseMs, signal);
    }
  }

  /**
   * Returns the units of a call whose first answer got lost: the answer to the repetition says 0, because it joined the first.
   * The units stay unknown if the service no longer has the job.
   */
  async #unitsOf(jobId: string, { signal, headers }: Request): Promise<number> {
    const path = `/api/jobs/${encodeURIComponent(jobId)}`;
    try {
      const timeoutMs = JOB_TIMEOUT_MS;
      const { data } = await this.#read({
        method: 'GET',
        path,
        repeats: 'always',
        timeoutMs,
        signal,
        headers,
      });
      return (data as Schemas['Job']).unitsCharged;
    } catch (error) {
      if (error instanceof SoukError) return 0;
      throw error;
    }
  }

  #read(request: Request): Promise<Read> {
    return this.transport.send(request, async (response, wasLost) => ({
      ...(await readAnswer(response)),
      wasLost,
      pauseMs: retryAfterMs(response.headers) ?? PAUSE_MS,
    }));
  }
}

/** Whether the job was started by this request, or by an earlier attempt of it. */
function isOwn({ meta, wasLost }: Read): boolean {
  return !meta.isDeduplicated || wasLost;
}
