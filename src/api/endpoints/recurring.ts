import { z } from 'zod';
import { batchSchema } from '../../batches/batch.ts';
import { runSchema } from '../../batches/schedules/run.ts';
import { deleteSchedule } from '../../batches/schedules/schedule.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import { integer } from '../../operations/params/scalars.ts';
import type { Database } from '../../platform/db/pool.ts';
import { sendEnvelope } from '../envelope.ts';
import { uuidParameter } from '../ids.ts';
import { enveloped } from '../openapi/responses.ts';
import type { Account } from '../plugins/authentication.ts';
import { dryRunQuery, readDocument, sendToWorker, type UploadDeps } from '../uploads.ts';
import { type BodyDescription, endpoint, type IdParameter } from './endpoint.ts';

export const pageQuery = z.object({
  limit: integer({ min: 1, max: 100 }).default(50).describe('Entries per page'),
  cursor: uuidParameter('the last entry of the previous page').optional(),
});

/** A run that was started on demand. */
const startedRunSchema = z
  .object({ run: runSchema, batch: batchSchema.nullable() })
  .register(SCHEMA_NAMES, { id: 'StartedRun' });

/** The document of a request, with the key that sends it. */
type Sent = Account & { body: string; dryRun: boolean };

/** What differs between schedules and trackers: both run batches at regular times, and a tracker has the id of its schedule. */
interface Recurring<Deps, View> {
  kind: 'schedule' | 'tracker';
  id: IdParameter;
  summaries: Record<'create' | 'quote' | 'update' | 'delete' | 'run', string>;
  /** What a run is: "run" or "check". */
  run: string;
  schema: z.ZodObject;
  /** The documents of a new one and of a change. */
  created: BodyDescription;
  changed: BodyDescription;
  create(deps: Deps, sent: Sent): Promise<View>;
  change(deps: Deps, id: string, sent: Sent): Promise<View>;
  /** @throws SoukError if the account has none with this id, or its key must not change it. */
  requireOwn(deps: { database: Database }, account: Account, id: string): Promise<unknown>;
}

/** Returns the endpoints that create, change, delete and run schedules or trackers. */
export function recurringEndpoints<
  Deps extends { database: Database },
  View extends { links: { self: string } },
>({ kind, id, summaries, run, schema, created, changed, create, change, requireOwn }: Recurring<Deps, View>) {
  const tag = `${kind}s`;
  const name = kind === 'schedule' ? 'Schedule' : 'Tracker';
  const preview = schema.extend({ dryRun: z.literal(true) }).register(SCHEMA_NAMES, { id: `${name}Preview` });
  const deleted = z
    .object({ deleted: z.literal(true), [`${kind}Id`]: z.uuid() })
    .register(SCHEMA_NAMES, { id: `Deleted${name}` });
  const shared = {
    tag,
    method: 'post',
    document: created,
    errors: ['LIMIT_REACHED', 'QUOTA_MAX_UNITS'],
  } as const;

  return {
    create: endpoint({
      ...shared,
      path: `/api/${tag}`,
      act: `${kind}.created` as const,
      tool: `${tag}_create`,
      startsCalls: true,
      summary: summaries.create,
      query: dryRunQuery,
      answers: { 201: enveloped(`The ${kind}`, schema, 'Location') },

      async handle(deps: Deps & UploadDeps, { account, query: { dryRun }, request, reply }) {
        const body = await readDocument(deps, { account, request });
        const view = await create(deps, { ...account, body, dryRun });
        if (dryRun) return sendEnvelope(reply, 200, { dryRun, ...view });
        reply.header('location', view.links.self);
        return sendEnvelope(reply, 201, view, { message: 'created' });
      },
    }),

    quote: endpoint({
      ...shared,
      path: `/api/${tag}/quote`,
      act: null,
      summary: summaries.quote,
      answers: { 200: enveloped(`The ${kind} that would be created`, preview) },

      async handle(deps: Deps & UploadDeps, { account, request, reply }) {
        const body = await readDocument(deps, { account, request });
        const view = await create(deps, { ...account, body, dryRun: true });
        return sendEnvelope(reply, 200, { dryRun: true, ...view });
      },
    }),

    update: endpoint({
      tag,
      method: 'patch',
      path: `/api/${tag}/{id}` as `${string}{id}`,
      act: `${kind}.changed` as const,
      tool: `${tag}_update`,
      summary: summaries.update,
      id,
      query: dryRunQuery,
      document: changed,
      answers: { 200: enveloped(`The ${kind}`, schema) },
      errors: ['QUOTA_MAX_UNITS'],

      async handle(deps: Deps & UploadDeps, { account, id: own, query: { dryRun }, request, reply }) {
        await requireOwn(deps, account, own);
        const body = await readDocument(deps, { account, request });
        const view = await change(deps, own, { ...account, body, dryRun });
        return sendEnvelope(reply, 200, dryRun ? { dryRun, ...view } : view);
      },
    }),

    remove: endpoint({
      tag,
      method: 'delete',
      path: `/api/${tag}/{id}` as `${string}{id}`,
      act: `${kind}.deleted` as const,
      tool: `${tag}_delete`,
      summary: summaries.delete,
      id,
      answers: { 200: enveloped(`The ${kind} was deleted`, deleted) },

      async handle({ database }: { database: Database }, { account, id: own, reply }) {
        await requireOwn({ database }, account, own);
        // A schedule takes its tracker with it, and the states and alerts of that.
        await deleteSchedule(database, account.accountId, own);
        return sendEnvelope(reply, 200, { deleted: true, [`${kind}Id`]: own });
      },
    }),

    run: endpoint({
      tag,
      method: 'post',
      path: `/api/${tag}/{id}/run` as `${string}{id}/run`,
      act: `${kind}.run` as const,
      tool: `${tag}_run`,
      startsCalls: true,
      cost: { shownBy: `/api/${tag}/{id}`, unitsOf: ({ units }) => units as number },
      summary: summaries.run,
      id,
      answers: { 202: enveloped(`The ${run} and its batch`, startedRunSchema, 'Location') },
      errors: ['BATCH_STATE', 'LIMIT_REACHED', 'STORAGE_EXCEEDED'],

      async handle(deps: { database: Database } & UploadDeps, call) {
        await requireOwn(deps, call.account, call.id);
        return sendToWorker(deps, call, (ids) => ({ kind: 'run', ...ids, scheduleId: call.id, of: kind }));
      },
    }),
  };
}
