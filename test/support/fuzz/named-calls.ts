import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/pool.ts';
import type { FuzzRequest } from './request.ts';
import type { FuzzAnswer } from './send.ts';

/** The calls whose ids successful answers contain. Only these, and calls of batches, may be charged. */
export interface NamedCalls {
  note(request: FuzzRequest, answer: FuzzAnswer): void;
  /** Returns the charged calls of accounts that no successful answer named, after all calls have ended. */
  unnamed(database: Database, accountIds: readonly number[]): Promise<Record<string, unknown>[]>;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Paths whose answers contain the ids of their calls in the body. Lists and job pages also contain ids of other requests. */
export const NAMES_ITS_CALLS = /^\/+(mcp|account\/((test-)?\d+\/)?try)/i;

export function createNamedCalls(): NamedCalls {
  const named = new Set<string>();
  return {
    note({ path }, { status, headers, text }) {
      // A page shows a refused call with status 200, and a client may disconnect before the answer.
      if (status >= 400) return;
      const id = headers['x-job-id'];
      if (typeof id === 'string') named.add(id);
      if (!NAMES_ITS_CALLS.test(path)) return;
      for (const [found] of `${String(headers.location)} ${text}`.matchAll(UUID)) named.add(found);
    },
    async unnamed(database, accountIds) {
      await untilEnded(database);
      const { rows } = await database.query<{ id: string }>(
        `select c.id, c.account_id, c.operation, c.state, c.units_charged, c.input from calls c
         where c.units_charged > 0 and c.account_id = any($1) and not exists (select 1 from batch_calls b where b.call_id = c.id)`,
        [accountIds],
      );
      return rows.filter(({ id }) => !named.has(id));
    },
  };
}

async function untilEnded(database: Database): Promise<void> {
  for (let attempt = 1; attempt <= 300; attempt += 1) {
    const { rows } = await database.query<{ open: number }>(
      `select count(*)::integer as open from calls c where state = 'reserved' and not exists (
         select 1 from batch_calls b where b.call_id = c.id)`,
    );
    if (rows[0]?.open === 0) return;
    await pause(100);
  }
}
