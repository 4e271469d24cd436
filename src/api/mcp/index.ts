import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { isInScope, type KeyScopes, requireScope, scopeMissing } from '../../accounts/key-settings.ts';
import { quota } from '../../operations/account/quota.ts';
import { type Listing, readToolsets, TOOLSET_NAMES } from '../../operations/toolsets.ts';
import { invalidParameters, SoukError } from '../../platform/errors.ts';
import { packageVersion } from '../../platform/project.ts';
import type { Redis } from '../../platform/redis.ts';
import type { RedisKeys } from '../../platform/redis-keys.ts';
import { limitFreeRequest, type RequestLimits } from '../limits/limits.ts';
import { type AuthenticationDeps, accountOf, keyOf, requireAccount } from '../plugins/authentication.ts';
import { requestsTo, type SendRequest } from '../self-client.ts';
import { callTool, PATIENCE_SECONDS, type ToolCallDeps, type ToolCaller } from './call-tool.ts';
import { APPS_EXTENSION, CHART_RESOURCE, readChart, withChart } from './chart.ts';
import { mountProtocol } from './mount.ts';
import { PROMPTS, promptText } from './prompts.ts';
import type { Served } from './protocol.ts';
import { listResources, RESOURCE_TEMPLATES, readResource } from './resources.ts';
import { refusalResult, sliceBytes } from './results.ts';
import { calledTool, listedTools, searchTools, TOOLS_CALL, TOOLS_SEARCH } from './tool-directory.ts';
import { TOOLS } from './tools.ts';

interface Caller extends ToolCaller {
  listing: Listing;
  scopes: KeyScopes;
}

export interface McpDeps extends AuthenticationDeps, Omit<ToolCallDeps, 'send' | 'budgetTokens'> {
  redis: Redis;
  keys: RedisKeys;
  limits: RequestLimits;
  settings: McpSettings;
}

export interface McpSettings {
  /** The setting MCP_TOOLSETS. */
  toolsets: Listing;
  /** The setting MCP_RESULT_TOKENS. */
  resultTokens: number;
  /** Host names of allowed requests, and of the pages that may send them; without ports. */
  allowedHosts: readonly string[];
}

/** Tools for agents: every operation, and jobs, batches and schedules, over the Model Context Protocol. */
export function registerMcp(scope: FastifyInstance, deps: McpDeps): void {
  const { settings, log } = deps;
  mountProtocol<Caller>(scope, {
    served: toolsOf(requestsTo(scope), deps),
    allowedHosts: settings.allowedHosts,
    onError: (error) => log.debug({ err: error }, 'refused a tool request'),
    async identify(request) {
      const { accountId, scopes } = accountOf(request);
      await countMessages(deps.limits, accountId, request.body);
      if (request.hasToken) requireToolScope(scopes, request.body);
      const { traceparent } = request.headers;
      return {
        accountId,
        scopes,
        key: keyOf(request),
        ip: request.ip,
        traceparent: typeof traceparent === 'string' ? traceparent : undefined,
        listing: listingOf(request) ?? settings.toolsets,
      };
    },
  });
  requireAccount(scope, deps);
  limitMessages(scope, deps.limits);
}

/** Bytes of a body that is read before the request is limited. A call of the tool for the quota has about 150. */
const SMALL_BYTES = 2_000;

/** Limits the requests as free ones, except calls of the tool for the quota, which are never refused. */
function limitMessages(scope: FastifyInstance, limits: RequestLimits): void {
  const isSmall = ({ headers }: FastifyRequest) =>
    Number(headers['content-length'] ?? Infinity) <= SMALL_BYTES;
  scope.addHook('onRequest', async (request, reply) => {
    if (!isSmall(request)) await limitFreeRequest(limits, request, reply);
  });
  scope.addHook('preValidation', async (request, reply) => {
    if (isSmall(request) && !isQuotaCall(request.body)) await limitFreeRequest(limits, request, reply);
  });
}

const quotaCall = z.object({
  method: z.literal('tools/call'),
  params: z.object({ name: z.literal(quota.tool) }),
});

function isQuotaCall(body: unknown): boolean {
  return quotaCall.safeParse(body).success;
}

const named = z.object({ name: z.string() });

/** A call of a tool, whether it is called itself or by `tools_call`. */
const toolCall = z.object({
  method: z.literal('tools/call'),
  params: named.extend({ arguments: named.optional().catch(undefined) }),
});

/**
 * Requires the scopes of a tool before it is called: a program that has signed in asks the person for more after a 403.
 * @throws SoukError KEY_SCOPE_MISSING.
 */
function requireToolScope(scopes: KeyScopes, body: unknown): void {
  const { name = '', arguments: inner } = toolCall.safeParse(body).data?.params ?? {};
  const tool = TOOLS.get(name === TOOLS_CALL.name ? (inner?.name ?? '') : name);
  if (tool) requireScope(scopes, tool.scopes);
}

/** Counts the messages of a list as one request each. The limit of the scope has counted the first. */
async function countMessages({ free }: RequestLimits, accountId: number, body: unknown): Promise<void> {
  if (Array.isArray(body) && body.length > 1) await free.count(accountId, body.length - 1);
}

function toolsOf(send: SendRequest, deps: McpDeps): Served<Caller> {
  const { resultTokens } = deps.settings;
  return {
    info: { name: 'souk', title: 'Souk', version: packageVersion() },
    instructions: INSTRUCTIONS,
    extensions: { [APPS_EXTENSION]: {} },
    listTools: ({ listing, scopes }) => listedTools(listing, scopes).map(withChart),
    async callTool(caller, name, args, context) {
      try {
        if (name === TOOLS_SEARCH.name) return searchTools(caller.scopes, args, resultTokens);
        const called = name === TOOLS_CALL.name ? calledTool(caller.scopes, args) : { name, args };
        const tool = TOOLS.get(called.name);
        if (!tool) return null;
        if (!isInScope(caller.scopes, tool.scopes)) throw scopeMissing(tool.scopes);
        return await callTool(
          { ...deps, send, budgetTokens: resultTokens },
          caller,
          tool,
          called.args,
          context,
        );
      } catch (error) {
        if (error instanceof SoukError) return refusalResult(error);
        throw error;
      }
    },
    listResources: async (caller) => [
      ...(await listResources(send, caller, (jobIds) => areKept(deps, jobIds))),
      CHART_RESOURCE,
    ],
    prompts: PROMPTS,
    promptText,
    resourceTemplates: RESOURCE_TEMPLATES,
    readResource: async (caller, uri) =>
      readChart(uri) ?? (await readResource(send, caller, uri, sliceBytes(resultTokens))),
  };
}

async function areKept({ redis, keys }: McpDeps, jobIds: readonly string[]): Promise<boolean[]> {
  const found = await Promise.all(jobIds.map((jobId) => redis.exists(keys.callAnswer(jobId))));
  return found.map((count) => count > 0);
}

const INSTRUCTIONS = `Data about a retail marketplace. Calls cost units: each tool states its price, and market_get_quota returns the units left.
Not every tool is listed: tools_search finds further ones with their arguments, and tools_call calls them.
Every tool accepts maxUnits (refuse the call if it would cost more) and dryRun (return the price without making the call). The site is country (us, uk, ...) or domain (1, 2, ...).
Prices are in the currency of the site, ratings in stars, times ISO, null without data; decode=false returns raw values (cents, stars x 10, -1 without data). Arguments are in raw units where they say so.
fields selects fields of each record: "asin,title,statistics.current". A long list is {columns, rows}. A history is [["2026-11-01", 19.99], ...], changes only; from, to (dates) and points (the most per history) limit it.
An identical call within five minutes is free.
A call that takes longer than ${PATIENCE_SECONDS} seconds returns a jobId for jobs_get_result. An answer that is too large is returned as an outline with nextStep; jobs_get_result returns its parts for free.`;

/** Returns the tools that a request selects, by `toolsets` or `toolset`. @throws SoukError VALIDATION_FAILED. */
function listingOf(request: FastifyRequest): Listing | null {
  const { toolsets, toolset } = request.query as Record<string, string | string[] | undefined>;
  const named = [toolsets ?? [], toolset ?? []].flat();
  if (named.length === 0) return null;
  const found = readToolsets(named.join(','));
  if (found) return found;
  const problem = `must be a comma-separated list of ${TOOLSET_NAMES.join(', ')}`;
  throw invalidParameters([{ parameter: 'toolsets', problem }]);
}
