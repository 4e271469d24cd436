import type { Database } from '../../../src/platform/db/pool.ts';
import type { FuzzRequest } from './request.ts';
import type { FuzzAnswer } from './send.ts';

/** The calls named in successful answers. Only these, and calls of batches, may be charged. */
export interface ToldCalls {
  note(request: FuzzRequest, answer: FuzzAnswer): void;
  /** Returns the charged calls of accounts that no successful answer named, after all calls have ended. */
  untold(database: Database, accountIds: readonly number[]): Promise<Record<string, unknown>[]>;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Answers that name their calls in the body; lists and job pages name those of other requests as well. */
export const NAMES_ITS_CALLS = /^\/+(mcp|account\/try)/i;

export function createToldCalls(): ToldCalls {
  const told = new Set<string>();
  return {
    note({ path }, { status, headers, text }) {
      // A page shows a refused call with status 200, and a client may disconnect before the answer.
      if (status >= 400) return;
      const id = headers['x-job-id'];
      if (typeof id === 'string') told.add(id);
      if (NAMES_ITS_CALLS.test(path)) for (const [found] of text.matchAll(UUID)) told.add(found);
    },
    async untold(database, accountIds) {
      await untilEnded(database);
      const { rows } = await database.query<{ id: string }>(
        `select c.id, c.account_id, c.operation, c.state, c.units_charged, c.input from calls c
         where c.units_charged > 0 and c.account_id = any($1) and not exists (select 1 from batch_calls b where b.call_id = c.id)`,
        [accountIds],
      );
      return rows.filter(({ id }) => !told.has(id));
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
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
