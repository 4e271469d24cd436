import { z } from 'zod';
import type { PaymentSettings, StripeSettings } from '../billing/payments/payment-port.ts';
import { TRIAL_RULES } from '../billing/payments/purchase-rules.ts';
import { isDailyWindow } from '../billing/wallets.ts';
import { REPORT_SITE_CODES } from '../operations/brand-analytics/keywords.ts';
import { PROVIDER_KINDS, WORKER_POOL_NAMES } from '../operations/pools.ts';
import { readToolsets, TOOLSET_NAMES } from '../operations/toolsets.ts';
import { ConfigError, parseSettings } from '../platform/settings.ts';
import { isTimeZone } from '../platform/time-zone.ts';
import { operatorLinks, postgresAddress, redisAddress, webAddress } from './addresses.ts';
import { ALERTING } from './alerts.ts';
import { limitsSetting } from './limits.ts';
import { MAIL } from './mail.ts';
import { onOrOff } from './on-or-off.ts';
import { PAYMENT_SETTINGS } from './payments.ts';
import { providerAccounts } from './provider-accounts.ts';
import { SELLING_PARTNER } from './selling-partner.ts';
import { SINGLE_SIGN_ON } from './single-sign-on.ts';

const port = z.coerce.number().int().min(0).max(65_535);
const operatorToken = z
  .string()
  .regex(/^[\x21-\x7e]{16,}$/, 'must be at least 16 letters, digits or signs, without spaces')
  .optional();

/**
 * All settings, with meanings and defaults. `npm run generate` writes them into docs/operating/configuration.md.
 * An empty value counts as absent, as in docker-compose files.
 */
const settings = {
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address on which the gateway, and the metrics server of a worker, listen'),
  PORT: port.default(3000).describe('Port of the gateway'),
  DATABASE_URL: postgresAddress
    .optional()
    .describe(
      'PostgreSQL 14 or later with its extension `pg_trgm`: the address of one server, or one that leads to the primary, see [PostgreSQL](postgresql.md). Default under `npm start`: an embedded PostgreSQL',
    ),
  REDIS_URL: redisAddress
    .optional()
    .describe(
      'Redis 6.2 or later with `maxmemory-policy noeviction`: one server, Sentinel or Redis Cluster, see [Redis](redis.md). Default under `npm start`: an embedded Redis',
    ),
  CACHE_REDIS_URL: redisAddress
    .optional()
    .describe(
      'Redis of its own for cached answers and upstream data, which may evict and needs no append-only file, see [Redis](redis.md#a-redis-for-cached-data). Default: they are on REDIS_URL',
    ),
  REDIS_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be lower-case letters, digits and hyphens')
    .default('souk')
    .describe(
      'Prefix of every Redis key; several installations can share one Redis under different prefixes',
    ),
  SOUK_DATA_DIR: z.string().default('.souk').describe('Folder for the data, keys and logs of `npm start`'),
  KEEPA_API_KEY: providerAccounts
    .optional()
    .describe(
      "The operator's key for the product data provider, or the keys of [several accounts](provider-accounts.md), with names if wanted: `main:KEY,second:KEY`. Default under `npm start`: the demo provider",
    ),
  KEEPA_BASE_URL: webAddress
    .default('https://api.keepa.com')
    .describe('Address of the product data provider'),
  ...SELLING_PARTNER,
  DEMO_DATA: z
    .string()
    .default('')
    .transform((value) => value.split(',').map((kind) => kind.trim()))
    .transform((kinds) => kinds.filter((kind) => kind !== ''))
    .pipe(z.array(z.enum(PROVIDER_KINDS, `must be a comma-separated list of ${PROVIDER_KINDS.join(', ')}`)))
    .describe(
      'Data that the demo provider supplies: `products`, `trends`, `reports`. They are never shown as data of another provider. `npm start` sets it with the demo provider',
    ),
  ABA_FETCH_COUNTRIES: z
    .string()
    .transform((value) => value.split(',').map((code) => code.trim()))
    .pipe(
      z
        .array(z.enum(REPORT_SITE_CODES, `must be a comma-separated list of ${REPORT_SITE_CODES.join(', ')}`))
        .nonempty(),
    )
    .optional()
    .describe(
      'Sites whose weekly reports a worker of the pool `batch` fetches automatically, such as `us,de`. Default: none',
    ),
  CHART_SITE_URL: webAddress
    .default('https://charts.example.com')
    .describe('Site with the price-chart pages, used in links'),
  OFF_PEAK_WINDOW: z
    .string()
    .default('19:00-07:00')
    .refine(isDailyWindow, 'must be two different times such as 19:00-07:00')
    .describe('Daily off-peak window, [start, end); may cross midnight'),
  OFF_PEAK_TIMEZONE: z
    .string()
    .default('Asia/Shanghai')
    .refine(isTimeZone, 'must be an IANA time zone such as Asia/Shanghai')
    .describe('Time zone of the off-peak window'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Lowest level that is logged; requests are logged at `debug`'),
  WORKER_POOLS: z
    .string()
    .default(WORKER_POOL_NAMES.join(','))
    .transform((value) => value.split(',').map((name) => name.trim()))
    .pipe(
      z
        .array(z.enum(WORKER_POOL_NAMES, `must be a comma-separated list of ${WORKER_POOL_NAMES.join(', ')}`))
        .nonempty(),
    )
    .describe('Pools that this worker process serves'),
  WEBHOOK_ALLOW_PRIVATE: onOrOff
    .default(false)
    .describe('Allows webhooks to private and loopback addresses; for trials and tests only'),
  LIMITS: limitsSetting,
  TRUST_PROXY: z
    .string()
    .optional()
    .describe(
      'Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted: addresses and networks, separated by commas, such as `10.0.0.0/8`, or `loopback`. Default: none',
    ),
  PUBLIC_URL: webAddress
    .optional()
    .describe(
      'Public address of the service, such as `https://souk.example.com`. Programs sign in by OAuth only if it is set, or if HOST is a loopback address. Default: the host of the request',
    ),
  OPERATOR_NAME: z
    .string()
    .trim()
    .max(100)
    .optional()
    .describe('Name of the company that offers the service, at the foot of all pages. Default: none'),
  OPERATOR_LINKS: operatorLinks
    .optional()
    .describe(
      'Links at the foot of all pages, separated by commas, each a name and an address, such as `Terms https://example.com/terms, Privacy https://example.com/privacy, Contact mailto:help@example.com`. Default: none',
    ),
  ...MAIL,
  ...ALERTING,
  ...SINGLE_SIGN_ON,
  TRIALS: z
    .enum(TRIAL_RULES, `must be ${TRIAL_RULES.join(', ')}`)
    .default('manual')
    .describe(
      'Who may take a free plan or pack, once per account: `open` every customer, `confirmed` customers with a confirmed e-mail address, `manual` only customers to whom the operator grants it. Where [mails](mail.md) are sent, `open` requires a confirmed address too. Default under `npm start` with the demo provider: `open`',
    ),
  SECRET_KEY: z
    .string()
    .transform((value) => value.split(',').map((key) => key.trim()))
    .pipe(
      z.array(
        z
          .string()
          .regex(/^[\x21-\x7e]{32,}$/, 'must be at least 32 letters, digits or signs, without spaces'),
      ),
    )
    .optional()
    .describe(
      'Key that encrypts [secrets](security.md#secrets-at-rest) in PostgreSQL, such as the signing secrets of webhooks; the same for all gateways and workers. To change it, put the new key first: `NEW,OLD`. Default: secrets are stored as they are',
    ),
  TEST_MODE: z
    .enum(['on', 'off'], 'must be on or off')
    .default('on')
    .describe(
      'Whether customers may create test keys, whose calls are answered by the demo provider and are free. With `off`, test keys get `401`',
    ),
  ...PAYMENT_SETTINGS,
  ADMIN_TOKEN: operatorToken.describe(
    'Operator token: with it the first operator gets the role at `/admin/claim`, and programs open the console, as a bearer token or as a password; at least 16 characters. Default: no console; `npm start` with the demo provider generates a token',
  ),
  METRICS_TOKEN: operatorToken.describe(
    'Token for `/metrics`, sent as a bearer token or as a password. Default: only programs on the same machine may read the metrics, and none while PUBLIC_URL or TRUST_PROXY is set',
  ),
  METRICS_PORT: port
    .optional()
    .describe(
      'Port of the `/metrics` of a worker. Default: a worker serves no metrics. The gateway serves its metrics on PORT',
    ),
  MCP_TOOLSETS: z
    .string()
    .default('default')
    .refine(
      (value) => readToolsets(value) !== null,
      `must be a comma-separated list of ${TOOLSET_NAMES.join(', ')}`,
    )
    .describe('Toolsets shown at `/mcp` to clients that select none'),
  MCP_ALLOWED_HOSTS: z
    .string()
    .default('')
    .transform((value) => value.split(',').map((name) => name.trim().toLowerCase()))
    .transform((names) => names.filter((name) => name !== ''))
    .pipe(
      z.array(
        z
          .string()
          .regex(/^(?:[a-z0-9.-]+|\[[0-9a-f:]+\])$/, 'must be host names without port, separated by commas'),
      ),
    )
    .describe(
      'Further host names under which `/mcp` may be reached, in addition to HOST, the host of PUBLIC_URL, `localhost`, `127.0.0.1` and `[::1]`. Requests from pages of other hosts are refused',
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress
    .optional()
    .describe(
      'OpenTelemetry collector that receives traces, such as `http://127.0.0.1:4318`. Default: no traces',
    ),
} as const;

/** Set by `npm start` for its demo provider, and by tests for theirs. Operators need the defaults, so no document names them. */
const OWN_ADDRESSES = {
  TRENDS_BASE_URL: webAddress.default('https://trends.google.com'),
  SP_API_BASE_URL: webAddress.optional(),
  STRIPE_BASE_URL: webAddress.default('https://api.stripe.com'),
  IMAGE_CDN_URL: webAddress.default('https://m.media-amazon.com'),
  /** Search terms in each weekly report of the demo provider. */
  DEMO_REPORT_TERMS: z.coerce.number().int().min(100).max(1_000_000).default(10_000),
} as const;

/** Limits stand among the other settings. */
const schema = z
  .object({ ...settings, ...OWN_ADDRESSES })
  .transform(({ LIMITS, ...others }) => ({ ...others, ...LIMITS }));

export type Config = z.output<typeof schema>;

/** Reads the settings from environment variables. @throws ConfigError naming all invalid ones. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  return parseSettings(schema, env);
}

/** Returns the settings that this process requires. @throws ConfigError naming those that are not set. */
export function requireSettings<Name extends keyof Config>(
  config: Config,
  ...names: readonly Name[]
): Config & { [N in Name]-?: NonNullable<Config[N]> } {
  const missing = names.filter((name) => config[name] === undefined);
  if (missing.length === 0) return config as Config & { [N in Name]-?: NonNullable<Config[N]> };
  throw new ConfigError(
    `Not set: ${missing.join(', ')}. For a trial, \`npm start\` provides what is missing.`,
  );
}

/** Reads the payment settings. @throws ConfigError when they contradict each other. */
export function readPayments(config: Config): PaymentSettings {
  const { PAYMENTS, PAYMENT_CURRENCY: currency, STRIPE_BASE_URL: baseUrl } = config;
  const { STRIPE_SECRET_KEY: secretKey, STRIPE_WEBHOOK_SECRET: webhookSecret } = config;
  const way = PAYMENTS ?? (secretKey && webhookSecret ? 'stripe' : 'manual');
  if (way !== 'stripe') return { currency, way };
  if (!secretKey || !webhookSecret)
    throw new ConfigError('PAYMENTS is stripe: set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET as well.');
  const { PLAN_GRACE_DAYS: graceDays, STRIPE_TAX: hasAutomaticTax } = config;
  return { currency, way: { secretKey, webhookSecret, baseUrl, currency, graceDays, hasAutomaticTax } };
}

/** Returns the settings of Stripe; undefined if customers pay in another way. */
export function stripeSettings(config: Config): StripeSettings | undefined {
  const { way } = readPayments(config);
  return typeof way === 'object' ? way : undefined;
}

/** Host names of this machine. */
const OWN_HOSTS = ['localhost', '127.0.0.1', '[::1]'];

/** Returns the settings of the MCP tools. */
export function mcpSettings({
  MCP_TOOLSETS,
  MCP_RESULT_TOKENS,
  MCP_ALLOWED_HOSTS,
  HOST,
  PUBLIC_URL,
}: Config) {
  const ownHost = HOST.includes(':') ? `[${HOST}]` : HOST;
  const publicHost = PUBLIC_URL ? [new URL(PUBLIC_URL).hostname] : [];
  return {
    toolsets: readToolsets(MCP_TOOLSETS) ?? [],
    resultTokens: MCP_RESULT_TOKENS,
    allowedHosts: [...new Set([...OWN_HOSTS, ownHost, ...publicHost, ...MCP_ALLOWED_HOSTS])],
  };
}

/** Returns the settings of test mode; null if it is off. */
export function testModeOf(
  config: Pick<Config, 'TEST_MODE' | 'TEST_UNITS_PER_DAY'>,
): { unitsPerDay: number } | null {
  return config.TEST_MODE === 'on' ? { unitsPerDay: config.TEST_UNITS_PER_DAY } : null;
}

/** Returns name, meaning and default of each setting, for the documentation. */
export function describeSettings(): { name: string; meaning: string; fallback: string }[] {
  const defaults: Record<string, unknown> = schema.parse({});
  return Object.entries(settings).map(([name, setting]) => ({
    name,
    meaning: setting.description ?? '',
    fallback: textOf(defaults[name]),
  }));
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isText ? String(value) : '';
}
