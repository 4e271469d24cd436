import { NO_LIMITS } from '../../src/api/limits/limits.ts';
import { mcpSettings, readConfig } from '../../src/config/config.ts';
import { openGateway } from '../../src/gateway/open-gateway.ts';
import { databaseClock } from '../../src/platform/db/pool.ts';
import { createLogger } from '../../src/platform/log.ts';
import { openWorker } from '../../workers/worker.ts';

// A program that opens a gateway and a worker, closes them, and then has nothing left to do.
const [databaseUrl = '', redisUrl = '', redisNamespace = ''] = process.argv.slice(2);
const log = createLogger('silent');
const providers = { products: 'test', trends: 'test', reports: 'test' };
const stores = { databaseUrl, redisUrl, redisNamespace, providers };

const worker = await openWorker(
  {
    ...stores,
    keepaBaseUrl: 'http://127.0.0.1:9',
    keepaAccounts: [{ name: 'main', key: 'unused-unused-unused' }],
    trendsBaseUrl: 'http://127.0.0.1:9',
    pools: ['market'],
    webhooks: { allowPrivate: false },
    offPeak: { start: '19:00', end: '07:00', timezone: 'Asia/Shanghai' },
  },
  databaseClock(),
  log,
);
const gateway = await openGateway(
  {
    ...stores,
    offPeak: { start: '19:00', end: '07:00', timezone: 'UTC' },
    links: {
      chartSiteUrl: 'https://charts.test',
      imageCdnUrl: 'https://images.test',
      testImageUrl: 'https://souk.test',
    },
    webhooks: { allowPrivate: false },
    limits: NO_LIMITS,
    mcp: mcpSettings(readConfig({})),
  },
  databaseClock(),
  log,
);
await gateway.app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write('open\n');
await gateway.close();
await worker.close();
process.stdout.write('closed\n');
