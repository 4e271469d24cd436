import type { FastifyReply } from 'fastify';
import type { CompletionMap } from '../../../jobs/wait.ts';
import { type Call, findCall } from '../../billing/calls.ts';
import { setFacts } from '../envelope.ts';
import { type JobViewDeps, jobId, jobView, type OwnJobDeps, ownJob } from '../job-view.ts';
import { headers } from '../openapi/responses.ts';
import { OWN_JOB_SCOPES } from '../plugins/authentication.ts';
import { type EndpointCall, endpoint } from './endpoint.ts';

/** The pauses between look-ups of a job in its queue, before the first and before each further one. The end of a job is published and needs no look-up. */
const FIRST_LOOK_MS = 1_000;
const LOOK_EVERY_MS = 5_000;

/** Proxies close idle connections; comments keep them open. */
const COMMENT_EVERY_MS = 15_000;

/** Maximum length of a stream. Event sources reconnect by themselves. */
const LONGEST_MS = 600_000;

interface EventDeps extends OwnJobDeps, JobViewDeps {
  completions: CompletionMap;
}

export const getJobEvents = endpoint({
  tag: 'jobs',
  method: 'get',
  path: '/api/jobs/{id}/events',
  summary: "Streams a job's status as Server-Sent Events.",
  description:
    "Streams a job's status as Server-Sent Events: `job` immediately and after each change, and `end` when the job has ended. The data of each event is the job.",
  id: jobId,
  scopes: OWN_JOB_SCOPES,
  occupies: 'streams',
  answers: {
    200: {
      description: 'Events, each with the job as JSON',
      headers: headers('X-Job-Id', 'X-Accel-Buffering'),
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
  },

  async handle(deps: EventDeps, call) {
    return streamEvents(deps, call, await ownJob(deps, call.account, call.id));
  },
});

async function streamEvents(
  deps: EventDeps,
  { account, id: callId, request, reply }: EndpointCall<'/api/jobs/{id}/events', unknown, unknown>,
  found: Call,
): Promise<FastifyReply> {
  const { completions, database, clock } = deps;
  const { accountId } = account;
  setFacts(reply, { unitsConsumed: 0, jobId: callId });
  reply.header('content-type', 'text/event-stream').header('x-accel-buffering', 'no');
  const stream = reply.hijack().raw;
  stream.writeHead(200, reply.getHeaders() as Record<string, string>);

  const hasLeft = () => request.signal.aborted || stream.destroyed || completions.closed;
  const closesAt = clock.now() + LONGEST_MS;
  let lastSent = '';
  let lastSentAt = clock.now();
  const send = (text: string) => {
    lastSentAt = clock.now();
    stream.write(text);
  };
  try {
    let call = found;
    let lookMs = FIRST_LOOK_MS;
    // Each wait also reads the state of the call, because the call may have ended before it, or the message may be lost.
    let ended = isOpen(call) && completions.wait({ accountId, callId }, lookMs, false);
    while (!hasLeft() && clock.now() < closesAt) {
      const data = JSON.stringify(await jobView(deps, call));
      if (!isOpen(call)) {
        send(`event: end\ndata: ${data}\n\n`);
        break;
      }
      if (data !== lastSent) send(`event: job\ndata: ${data}\n\n`);
      else if (clock.now() - lastSentAt >= COMMENT_EVERY_MS) send(': still here\n\n');
      lastSent = data;
      if (await ended) call = (await findCall(database, accountId, callId)) as Call;
      lookMs = Math.min(2 * lookMs, LOOK_EVERY_MS);
      ended = isOpen(call) && completions.wait({ accountId, callId }, lookMs, false);
    }
  } finally {
    stream.end();
  }
  return reply;
}

function isOpen({ state }: Call): boolean {
  return state === 'reserved';
}
