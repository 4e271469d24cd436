import type { Redis } from 'ioredis';
import type { Registry } from 'prom-client';
import type { Backlog } from '../../jobs/backlog.ts';
import type { BatchQueue } from '../../jobs/batch-queue.ts';
import type { QueueGauges } from '../../jobs/queue-gauges.ts';
import type { Replies } from '../../jobs/replies.ts';
import type { SubmitDeps } from '../../jobs/submit.ts';
import type { CompletionMap } from '../../jobs/wait.ts';
import type { Authentication } from '../accounts/authentication.ts';
import type { WrongKeys } from '../accounts/wrong-keys.ts';
import type { OnFinished } from '../batches/ending.ts';
import type { PaymentSettings } from '../billing/payments/payment-port.ts';
import type { OffPeakWindow } from '../billing/wallets.ts';
import type { Toolset } from '../operations/toolsets.ts';
import type { Logger } from '../platform/log.ts';
import type { RedisKeys } from '../platform/redis-keys.ts';
import type { RequestMetrics } from './request-metrics.ts';

/** What the routes of a gateway work with. */
export interface Gateway extends SubmitDeps {
  redis: Redis;
  batchQueue: BatchQueue;
  replies: Replies;
  keys: RedisKeys;
  backlog: Backlog;
  authentication: Authentication;
  wrongKeys: WrongKeys;
  completions: CompletionMap;
  offPeak: OffPeakWindow;
  links: LinkSettings;
  /** Told of each batch that has finished, within the transaction in which it did. */
  onBatchFinished: OnFinished;
  webhooks: WebhookSettings;
  /** Everything this process counts. */
  registry: Registry;
  requestMetrics: RequestMetrics;
  queueGauges: QueueGauges;
  operator: OperatorSettings;
  pages: PageSettings;
  /** The setting TRUST_PROXY: proxies that are believed when they tell who calls. */
  trustProxy?: string | undefined;
  mcp: McpSettings;
  log: Logger;
}

/** What the pages of customers need. */
export interface PageSettings {
  /** The setting PUBLIC_URL. */
  publicUrl?: string | undefined;
  payments: PaymentSettings;
}

/** What lets operators in. */
export interface OperatorSettings {
  /** The setting ADMIN_TOKEN; without it there is nothing at /admin. */
  adminToken?: string | undefined;
  /** The setting METRICS_TOKEN; without it anybody may read the metrics. */
  metricsToken?: string | undefined;
}

export interface WebhookSettings {
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
}

/** Tools for agents. */
export interface McpSettings {
  /** The setting MCP_TOOLSETS. */
  toolsets: readonly Toolset[];
  /** The setting MCP_RESULT_TOKENS. */
  resultTokens: number;
  /** Host names under which requests may come, and from whose pages; without ports. */
  allowedHosts: readonly string[];
}

/** Addresses that links are built from, without a slash at the end. */
export interface LinkSettings {
  chartSiteUrl: string;
  imageCdnUrl: string;
}
