import { z } from 'zod';
import { scheduleItemsText } from '../../../batches/schedules/schedule.ts';
import { scheduleSchema, scheduleView } from '../../../batches/schedules/view.ts';
import { SCHEMA_NAMES } from '../../../operations/answers/schema-names.ts';
import { boolean } from '../../../operations/params/scalars.ts';
import { inMode, JSON_TYPE, okBody } from '../../../results/envelope.ts';
import { modeOfReply, sendEnvelope, setFacts } from '../../envelope.ts';
import { enveloped } from '../../openapi/responses.ts';
import { endpoint } from '../endpoint.ts';
import { ownSchedule, type ScheduleDeps, scheduleId } from './own-schedule.ts';

const answer = scheduleSchema
  .extend({
    itemList: z.array(z.unknown()).optional().describe('The items as they were sent; only with items=1'),
  })
  .register(SCHEMA_NAMES, { id: 'ScheduleWithItems' });

export const getSchedule = endpoint({
  tag: 'schedules',
  method: 'get',
  path: '/api/schedules/{id}',
  tool: 'schedules_get',
  summary: 'Returns a schedule and the times of its next runs.',
  id: scheduleId,
  query: z.object({
    items: boolean().default(false).describe('Include the items as they were sent'),
  }),
  answers: { 200: enveloped('The schedule', answer) },
  // Items are up to 16 MB of text.
  occupies: ({ query }) => ((query as { items?: unknown }).items === undefined ? 'waiting' : 'downloads'),

  async handle(deps: ScheduleDeps, { account, id, query, reply }) {
    const schedule = await ownSchedule(deps, account, id);
    const view = scheduleView(schedule, deps.clock.now());
    if (!query.items) return sendEnvelope(reply, 200, view);
    const items = await scheduleItemsText(deps.database, schedule.scheduleId);
    setFacts(reply);
    // Replaces the closing brackets of the data and the envelope.
    const body = `${okBody(view).slice(0, -2)},"itemList":${items}}}`;
    return reply.header('content-type', JSON_TYPE).send(inMode(modeOfReply(reply), body));
  },
});
