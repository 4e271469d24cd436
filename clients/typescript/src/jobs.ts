import type { Answer } from './answer.ts';
import type { Calls } from './calls.ts';
import type { TableOptions } from './files.ts';
import type { Methods, OperationData, OperationName, Schemas } from './generated/operations.ts';
import { parseJson } from './json.ts';
import type { RequestOptions } from './method-types.ts';
import { eventsOf, resuming, type StreamEnd } from './streams.ts';

export type Job = Schemas['Job'];

/** Methods for jobs. */
export type Jobs = Methods['jobs'] & {
  /** Waits for the end of a job, and returns a table of its answer. @throws SoukError the error of its call. */
  result<Name extends OperationName = OperationName>(id: string, options: TableOptions<Name>): Answer<File>;
  /** Waits for the end of a job, and returns its result: the answer of its call. @throws SoukError the error of its call. */
  result<Name extends OperationName = OperationName>(
    id: string,
    options?: RequestOptions,
  ): Answer<OperationData[Name]>;
  /** Yields the job immediately, after each change, and when it has ended. Reconnects by itself. */
  events(id: string, options?: RequestOptions): AsyncGenerator<Job, void>;
};

const OPEN_TIMEOUT_MS = 30_000;

export function createJobs(calls: Calls, methods: Methods['jobs']): Jobs {
  return {
    ...methods,
    result: (id: string, options?: RequestOptions) => calls.result(id, options) as Answer<never>,
    events: (id, options = {}) => events(calls, id, options),
  };
}

function events({ transport }: Calls, id: string, options: RequestOptions): AsyncGenerator<Job, void> {
  const { signal, headers, timeoutMs = OPEN_TIMEOUT_MS } = options;
  const path = `/api/jobs/${encodeURIComponent(id)}/events`;
  let last = '';
  async function* read(hasReceived: () => void): AsyncGenerator<Job, StreamEnd> {
    const request = { method: 'GET', path, repeats: 'always', timeoutMs, signal, headers } as const;
    const response = await transport.send(request, async (opened) => opened);
    for await (const { event, data } of eventsOf(response, signal)) {
      hasReceived();
      const isEnd = event === 'end';
      // A new connection begins with the present state.
      if (isEnd || data !== last) yield parseJson(data) as Job;
      if (isEnd) return { isComplete: true, pauseMs: null };
      last = data;
    }
    return { isComplete: false, pauseMs: null };
  }
  return resuming(transport, read, signal);
}
