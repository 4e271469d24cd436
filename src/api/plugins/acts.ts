import type { FastifyInstance } from 'fastify';
import { type AccountAction, writeKeyAct } from '../../operator/account-audit.ts';
import type { Database } from '../../platform/db/pool.ts';
import { dryRunQuery } from '../uploads.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The action of the line that a request leaves in the audit log. */
    act?: AccountAction | null | undefined;
    /** Whether a query with `dryRun` makes a request of the route change nothing. */
    hasDryRun?: boolean | undefined;
  }
  interface FastifyRequest {
    /** The action of a request that is another one than that of its route. */
    act: AccountAction | null;
  }
}

/** Writes a line of the audit log for each request that has changed something, before its answer is sent. */
export function writeActs(scope: FastifyInstance, database: Database): void {
  scope.decorateRequest('act', null);
  scope.addHook('onSend', async ({ routeOptions, account, params, query, act }, reply) => {
    const action = act ?? routeOptions.config.act;
    if (!action || !account || reply.statusCode >= 400) return;
    if (routeOptions.config.hasDryRun && dryRunQuery.safeParse(query).data?.dryRun) return;
    const { id = lastSegment(reply.getHeader('location')) } = params as { id?: string };
    await writeKeyAct(database, account.keyHash, { action, target: id ?? null });
  });
}

/** The id of what was created. */
function lastSegment(location: unknown): string | undefined {
  return typeof location === 'string' ? location.split('?')[0]?.split('/').at(-1) : undefined;
}
