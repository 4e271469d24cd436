import type { FastifyReply } from 'fastify';
import type { CompletionMap } from '../../../../jobs/wait.ts';
import { type Call, findCall } from '../../../billing/calls.ts';
import { setFacts } from '../../envelope.ts';
import { type JobViewDeps, jobView } from '../../job-view.ts';
import { headers } from '../../openapi/responses.ts';
import { type EndpointCall, endpoint } from '../endpoint.ts';
import { jobId, type OwnJobDeps, ownJob } from './own-job.ts';

/** How often a job that has not ended is read. */
const LOOK_EVERY_MS = 1_000;

/** Comments keep idle connections open, which proxies close otherwise. */
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
    "Streams a job's status as Server-Sent Events: `job` at once and after each change, and `end` when the job has ended. The data of each event is the job.",
  id: jobId,
  occupies: 'streams',
  answers: {
    200: {
      description: 'Events, each with the job as JSON',
      headers: headers('X-Job-Id', 'X-Accel-Buffering'),
      content: { 'text/event-stream': { schema: { type: 'string' } } },
    },
  },

  async handle(deps: EventDeps, call) {
    await ownJob(deps, call.account, call.id);
    return streamEvents(deps, call);
  },
});

async function streamEvents(
  deps: EventDeps,
  { account, id: callId, request, reply }: EndpointCall<'/api/jobs/{id}/events', unknown, unknown>,
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
    while (!hasLeft() && clock.now() < closesAt) {
      const call = (await findCall(database, accountId, callId)) as Call;
      const data = JSON.stringify(await jobView(deps, call));
      if (call.state !== 'reserved') {
        send(`event: end\ndata: ${data}\n\n`);
        break;
      }
      if (data !== lastSent) send(`event: job\ndata: ${data}\n\n`);
      else if (clock.now() - lastSentAt >= COMMENT_EVERY_MS) send(': still here\n\n');
      lastSent = data;
      await completions.wait({ accountId, callId }, LOOK_EVERY_MS, false);
    }
  } finally {
    stream.end();
  }
  return reply;
}
