import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listRuns } from '../batches/schedules/run.ts';
import { deleteSchedule, findSchedule, listSchedules, type Schedule } from '../batches/schedules/schedule.ts';
import { runView, scheduleView } from '../batches/schedules/view.ts';
import { boolean, integer } from '../operations/params/scalars.ts';
import { SoukError } from '../platform/errors.ts';
import { sendEnvelope } from './envelope.ts';
import type { Gateway } from './gateway.ts';
import { isUuid, uuidParameter } from './ids.ts';
import { accountOf, parseAs } from './request-input.ts';
import { handOver, uploadRoute } from './uploads.ts';

const dryRunSchema = z.object({ dryRun: boolean().default(false) });

export const pageSchema = z.object({
  limit: integer({ min: 1, max: 100 }).default(50).describe('Entries a page'),
  cursor: uuidParameter('the last one of the page before').optional(),
});

/** Batches that come again and again. Free; a schedule of another account does not exist. */
export function registerSchedules(app: FastifyInstance, gateway: Gateway): void {
  const { database, clock } = gateway;

  app.post('/api/schedules', uploadRoute(gateway), (request, reply) => save(request, reply, null));

  app.patch('/api/schedules/:id', uploadRoute(gateway), async (request, reply) =>
    save(request, reply, (await ownSchedule(request)).scheduleId),
  );

  app.get('/api/schedules', async (request, reply) => {
    const accountId = await accountOf(gateway, request, () => parseAs(pageSchema, request.query));
    const { limit, cursor } = parseAs(pageSchema, request.query);
    const found = await listSchedules(database, accountId, { before: cursor ?? null, limit });
    const schedules = found.map((schedule) => scheduleView(schedule, clock.now()));
    const nextCursor = found.length === limit ? (found.at(-1)?.scheduleId ?? null) : null;
    return sendEnvelope(reply, 200, { schedules, nextCursor }, { now: clock.now() });
  });

  app.get('/api/schedules/:id', async (request, reply) => {
    const view = scheduleView(await ownSchedule(request), clock.now());
    return sendEnvelope(reply, 200, view, { now: clock.now() });
  });

  app.get('/api/schedules/:id/runs', async (request, reply) => {
    await accountOf(gateway, request, () => parseAs(pageSchema, request.query));
    const { scheduleId } = await ownSchedule(request);
    const { limit, cursor } = parseAs(pageSchema, request.query);
    const found = await listRuns(database, scheduleId, { before: cursor ?? null, limit });
    const nextCursor = found.length === limit ? (found.at(-1)?.runId ?? null) : null;
    return sendEnvelope(reply, 200, { runs: found.map(runView), nextCursor }, { now: clock.now() });
  });

  app.post('/api/schedules/:id/run', async (request, reply) => {
    const { scheduleId } = await ownSchedule(request);
    return handOver(gateway, request, reply, (ids) => ({ kind: 'run', ...ids, scheduleId }));
  });

  app.delete('/api/schedules/:id', async (request, reply) => {
    const schedule = await ownSchedule(request);
    await deleteSchedule(database, schedule.accountId, schedule.scheduleId);
    return sendEnvelope(reply, 200, { deleted: true, scheduleId: schedule.scheduleId }, { now: clock.now() });
  });

  function save(
    request: FastifyRequest,
    reply: FastifyReply,
    scheduleId: string | null,
  ): Promise<FastifyReply> {
    const { dryRun } = parseAs(dryRunSchema, request.query);
    return handOver(gateway, request, reply, (ids) => ({ kind: 'schedule', ...ids, scheduleId, dryRun }));
  }

  /** The schedule a request names. @throws SoukError SCHEDULE_NOT_FOUND. */
  async function ownSchedule(request: FastifyRequest): Promise<Schedule> {
    const accountId = await accountOf(gateway, request);
    const { id } = request.params as { id: string };
    const schedule = isUuid(id) ? await findSchedule(database, accountId, id) : null;
    if (!schedule) throw new SoukError('SCHEDULE_NOT_FOUND');
    return schedule;
  }
}
