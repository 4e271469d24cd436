import { collectDefaultMetrics } from 'prom-client';
import { pictureRoutes } from '../demo/pictures/drawing.ts';
import { parseWindow } from './billing/wallets.ts';
import { mcpSettings, readConfig, requireSettings, testModeOf } from './config/config.ts';
import { accountLimits, requestLimits, webhookLimits } from './config/limits.ts';
import { hasDemoPictures, providersOf } from './config/providers.ts';
import { gatewaySettings } from './config/start-up.ts';
import { openGateway, type RunningGateway } from './gateway/open-gateway.ts';
import { databaseClock } from './platform/db/pool.ts';
import { createLogger } from './platform/log.ts';
import { runProcess } from './platform/process.ts';
import { ConfigError } from './platform/settings.ts';
import { openTracing } from './platform/telemetry/tracing.ts';

/** The gateway process: answers HTTP until a signal stops it. */
await runProcess('gateway', async (env) => {
  const config = requireSettings(readConfig(env), 'DATABASE_URL', 'REDIS_URL');
  const log = createLogger(config.LOG_LEVEL);
  const tracing = await openTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, 'souk-gateway', (reason) =>
    log.warn({ reason }, 'failed to send traces'),
  );
  const ownUrl = config.PUBLIC_URL ?? `http://127.0.0.1:${config.PORT}`;
  const gateway = await openGateway(
    {
      databaseUrl: config.DATABASE_URL,
      redisUrl: config.REDIS_URL,
      cacheRedisUrl: config.CACHE_REDIS_URL,
      redisNamespace: config.REDIS_NAMESPACE,
      answerLimitMs: config.STORE_ANSWER_LIMIT_MS,
      offPeak: parseWindow(config.OFF_PEAK_WINDOW, config.OFF_PEAK_TIMEZONE),
      providers: providersOf(config),
      links: {
        chartSiteUrl: config.CHART_SITE_URL,
        imageCdnUrl: hasDemoPictures(config) ? ownUrl : config.IMAGE_CDN_URL,
        testImageUrl: ownUrl,
      },
      webhooks: { allowPrivate: config.WEBHOOK_ALLOW_PRIVATE, limits: webhookLimits(config) },
      accountLimits: accountLimits(config),
      limits: requestLimits(config),
      testMode: testModeOf(config),
      secretKeys: config.SECRET_KEY,
      trustProxy: config.TRUST_PROXY,
      pages: {
        publicUrl: config.PUBLIC_URL,
        offeredBy: { name: config.OPERATOR_NAME ?? null, links: config.OPERATOR_LINKS ?? [] },
        ...gatewaySettings(config),
        tokenPrice: config.UPSTREAM_TOKEN_PRICE,
        supportGrantUnits: config.SUPPORT_GRANT_UNITS,
        signUpsPerHour: config.SIGN_UPS_PER_HOUR,
        trials: config.TRIALS,
        hasDemoPictures: hasDemoPictures(config),
        pictureRoutes,
      },
      operator: { adminToken: config.ADMIN_TOKEN, metricsToken: config.METRICS_TOKEN },
      mcp: mcpSettings(config),
      connect: { registrationsPerHour: config.CLIENT_REGISTRATIONS_PER_HOUR },
    },
    databaseClock(),
    log,
    tracing,
  );
  collectDefaultMetrics({ register: gateway.registry });
  const address = await listen(gateway, config.HOST, config.PORT);
  return {
    async close() {
      await gateway.close();
      await tracing?.close();
    },
    ready: address,
  };
});

async function listen(gateway: RunningGateway, host: string, port: number): Promise<string> {
  try {
    return await gateway.app.listen({ host, port });
  } catch (error) {
    await gateway.close();
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new ConfigError(`PORT ${port} is in use on ${host}; set another PORT.`);
    throw new ConfigError(`Cannot listen on HOST ${host} and PORT ${port}: ${message}.`);
  }
}
