import type { FastifyInstance } from 'fastify';
import type { Attempts } from '../accounts/attempts.ts';
import { activityFields } from '../operator/activity/activity.ts';
import { readActivity } from '../operator/activity/read-activity.ts';
import { MARGIN_COLUMNS, marginFields } from '../operator/margin/margin.ts';
import { readMargin } from '../operator/margin/read-margin.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import { publicEndpoint, registerEndpoints } from './endpoints/endpoint.ts';
import { sendEnvelope } from './envelope.ts';
import { formatOf, parseAs } from './operations/call-options.ts';
import { requireToken } from './require-token.ts';
import { sendTable } from './send-results.ts';

export interface OperatorApiDeps {
  database: Database;
  clock: Clock;
  attempts: Attempts;
  currency: string;
  /** The setting UPSTREAM_TOKEN_PRICE. */
  tokenPrice: number | null;
}

const getMargin = publicEndpoint({
  tag: 'operator',
  method: 'get',
  path: '/api/operator/margin',
  summary: 'Returns revenue, cost and margin by day, customer, plan, key or operation.',
  answers: {},
  isHidden: true,

  async handle({ database, clock, currency, tokenPrice }: OperatorApiDeps, request, reply) {
    const now = clock.now();
    const query = parseAs(marginFields(now), request.query);
    const form = formatOf(request);
    const report = await readMargin(database, query, { currency, tokenPrice, now });
    if (!form) return sendEnvelope(reply, 200, report);
    return sendTable(reply, form.format, { name: 'margin', columns: MARGIN_COLUMNS }, report.rows, now);
  },
});

const getActivity = publicEndpoint({
  tag: 'operator',
  method: 'get',
  path: '/api/operator/activity',
  summary: 'Returns figures of the business and the service over time.',
  answers: {},
  isHidden: true,

  async handle({ database, clock, currency }: OperatorApiDeps, request, reply) {
    const { range } = parseAs(activityFields, request.query);
    return sendEnvelope(reply, 200, await readActivity(database, range, { currency, now: clock.now() }));
  },
});

/** Registers what programs of the operator read, with the token of ADMIN_TOKEN. */
export function registerOperatorApi(app: FastifyInstance, deps: OperatorApiDeps, token: string): void {
  app.register(async (scope) => {
    scope.addHook('onRequest', requireToken(token, deps));
    registerEndpoints(scope, [getActivity, getMargin], deps);
  });
}
