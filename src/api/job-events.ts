import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Awaited } from '../../jobs/wait.ts';
import { type Call, findCall } from '../billing/calls.ts';
import { type CallFacts, setFacts } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { jobView } from './job-view.ts';

/** How often a job that has not ended is looked at. */
const LOOK_EVERY_MS = 1_000;

/** Proxies end connections on which nothing comes. */
const SIGN_OF_LIFE_EVERY_MS = 15_000;

/** A client that wants to listen longer connects again, which event sources do by themselves. */
const LONGEST_MS = 600_000;

/**
 * Tells a job's story as Server-Sent Events: `job` with the job as `GET /api/jobs/{id}` shows it, at once and whenever
 * something has changed, and `end`, the same, when it has ended; then the connection closes.
 */
export async function followJob(
  gateway: Gateway,
  request: FastifyRequest,
  reply: FastifyReply,
  awaited: Awaited,
): Promise<FastifyReply> {
  const { completions, database, clock } = gateway;
  const facts: CallFacts = { unitsConsumed: 0, jobId: awaited.callId };
  setFacts(reply, facts, clock.now());
  reply.header('content-type', 'text/event-stream').header('cache-control', 'no-store');
  reply.header('x-accel-buffering', 'no');
  const stream = reply.hijack().raw;
  stream.writeHead(200, reply.getHeaders() as Record<string, string>);

  const hasLeft = () => request.signal.aborted || stream.destroyed || completions.closed;
  const closesAt = clock.now() + LONGEST_MS;
  let lastSaid = '';
  let lastSaidAt = clock.now();
  const say = (text: string) => {
    lastSaidAt = clock.now();
    stream.write(text);
  };
  try {
    while (!hasLeft() && clock.now() < closesAt) {
      const call = (await findCall(database, awaited.accountId, awaited.callId)) as Call;
      const view = await jobView(gateway, call);
      const data = JSON.stringify(view);
      if (call.state !== 'reserved') {
        say(`event: end\ndata: ${data}\n\n`);
        break;
      }
      if (data !== lastSaid) say(`event: job\ndata: ${data}\n\n`);
      else if (clock.now() - lastSaidAt >= SIGN_OF_LIFE_EVERY_MS) say(': still here\n\n');
      lastSaid = data;
      await completions.wait(awaited, LOOK_EVERY_MS, false);
    }
  } finally {
    stream.end();
  }
  return reply;
}
