import type { FastifyInstance } from 'fastify';
import { quota } from '../operations/account/quota.ts';
import { LOCAL } from '../operations/index.ts';
import { SoukError } from '../platform/errors.ts';
import { JSON_TYPE } from '../results/envelope.ts';
import type { Connect } from './connect/register.ts';
import { type DepsOf, registerEndpoints } from './endpoints/endpoint.ts';
import { ACCOUNT_ENDPOINTS } from './endpoints/index.ts';
import { CALL_ENDPOINTS } from './endpoints/jobs.ts';
import { getMetrics, SERVICE_ENDPOINTS } from './endpoints/service.ts';
import { versionOf } from './envelope.ts';
import { limitCalls, limitFreeRequests, type RequestLimits } from './limits/limits.ts';
import { type McpDeps, registerMcp } from './mcp/index.ts';
import { registerLinks } from './open-link.ts';
import { openApiDocument } from './openapi/document.ts';
import { registerLocalOperations, registerQueuedOperations } from './operations/register.ts';
import type { LocalDeps } from './operations/serve-local.ts';
import type { QueuedDeps } from './operations/serve-queued.ts';
import { writeActs } from './plugins/acts.ts';
import {
  type AuthenticationDeps,
  decorateWithAccount,
  requireAccount,
  requireKey,
} from './plugins/authentication.ts';
import { refusingOtherMethods } from './plugins/other-methods.ts';
import { requireMetricsAccess } from './require-token.ts';

export interface ApiDeps {
  authentication: AuthenticationDeps;
  connect: Connect;
  limits: RequestLimits;
  /** What operations and endpoints use. Each of them names its part. */
  endpoints: QueuedDeps & LocalDeps & DepsOf<typeof ACCOUNT_ENDPOINTS>;
  service: Omit<DepsOf<typeof SERVICE_ENDPOINTS>, 'document'>;
  metrics: DepsOf<[typeof getMetrics]>;
  /** The setting METRICS_TOKEN; without it, only programs of the same machine may read the metrics; behind a proxy, no program may. */
  metricsToken?: string | undefined;
  /** Whether PUBLIC_URL or TRUST_PROXY is set. */
  hasProxy: boolean;
  mcp: McpDeps;
}

// All gateways of a process share the document, which is created before the first of them listens.
const document = versionOf(JSON.stringify(openApiDocument()), JSON_TYPE);

/** Every operation, every other endpoint, and the tools for agents. */
export function registerApi(app: FastifyInstance, deps: ApiDeps): void {
  const { endpoints } = deps;
  decorateWithAccount(app);
  deps.connect.register(app);
  registerLinks(app, endpoints, deps.limits);
  const requireOwner = (scope: FastifyInstance): void => {
    requireAccount(scope, deps.authentication);
    limitFreeRequests(scope, deps.limits);
  };
  app.register(
    async (scope) => {
      requireOwner(scope);
      scope.setNotFoundHandler(() => {
        throw new SoukError('NOT_FOUND');
      });
    },
    { prefix: '/api' },
  );
  refusingOtherMethods(
    app,
    (api) => {
      api.register(async (scope) => {
        requireKey(scope, deps.authentication);
        limitCalls(scope, deps.limits);
        registerQueuedOperations(scope, endpoints);
      });
      api.register(async (scope) => {
        requireAccount(scope, deps.authentication);
        limitCalls(scope, deps.limits);
        registerEndpoints(scope, CALL_ENDPOINTS, endpoints);
      });
      // No limit refuses it: beyond a rate it is answered with snapshots.
      api.register(async (scope) => {
        requireAccount(scope, deps.authentication);
        registerLocalOperations(
          scope,
          endpoints,
          LOCAL.filter(({ name }) => name === quota.name),
        );
      });
      api.register(async (scope) => {
        requireOwner(scope);
        writeActs(scope, endpoints.database);
        registerLocalOperations(
          scope,
          endpoints,
          LOCAL.filter(({ name }) => name !== quota.name),
        );
        registerEndpoints(scope, ACCOUNT_ENDPOINTS, endpoints);
      });
      api.register(async (scope) =>
        registerEndpoints(scope, SERVICE_ENDPOINTS, { ...deps.service, document }),
      );
      api.register(async (scope) => {
        scope.addHook('onRequest', requireMetricsAccess(deps.metricsToken, deps.hasProxy));
        registerEndpoints(scope, [getMetrics], deps.metrics);
      });
      api.register(async (scope) => registerMcp(scope, deps.mcp));
    },
    requireOwner,
  );
}
