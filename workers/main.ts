import { parseWindow } from '../src/billing/wallets.ts';
import { systemClock } from '../src/clock.ts';
import { readConfig, requireSettings } from '../src/config.ts';
import { createLogger } from '../src/log.ts';
import { runProcess } from '../src/process.ts';
import { openWorker } from './worker.ts';

/** The worker process: does the jobs of the pools in WORKER_POOLS until it is told to stop. */
await runProcess('worker', async (env) => {
  const config = requireSettings(readConfig(env), 'DATABASE_URL', 'REDIS_URL', 'KEEPA_API_KEY');
  const log = createLogger(config.LOG_LEVEL);
  const worker = await openWorker(
    {
      databaseUrl: config.DATABASE_URL,
      redisUrl: config.REDIS_URL,
      redisNamespace: config.REDIS_NAMESPACE,
      keepaBaseUrl: config.KEEPA_BASE_URL,
      keepaKey: config.KEEPA_API_KEY,
      trendsBaseUrl: config.TRENDS_BASE_URL,
      pools: config.WORKER_POOLS,
      webhooks: { allowPrivate: config.WEBHOOK_ALLOW_PRIVATE },
      offPeak: parseWindow(config.OFF_PEAK_WINDOW, config.OFF_PEAK_TIMEZONE),
    },
    systemClock,
    log,
  );
  // The call is free. Jobs need not wait for it, but without a reading only a few may start.
  void worker.learnTokens();
  return { close: () => worker.close(), ready: `Worker ready: ${config.WORKER_POOLS.join(', ')}` };
});
