import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

// A program that opens a gateway and a worker of the compiled programs, closes them, and then has nothing left to do.
const [programs = '', databaseUrl = '', redisUrl = '', redisNamespace = ''] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(join(programs, file)).href);
const { NO_LIMITS } = await load('src/api/limits/limits.js');
const { mcpSettings, readConfig } = await load('src/config/config.js');
const { openGateway } = await load('src/gateway/open-gateway.js');
const { databaseClock } = await load('src/platform/db/database-clock.js');
const { createLogger } = await load('src/platform/log.js');
const { openWorker } = await load('workers/worker.js');

const log = createLogger('silent');
const stores = { databaseUrl, redisUrl, redisNamespace };

const worker = await openWorker(
  {
    ...stores,
    keepaBaseUrl: 'http://127.0.0.1:9',
    keepaKey: 'unused-unused-unused',
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
    links: { chartSiteUrl: 'https://charts.test', imageCdnUrl: 'https://images.test' },
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
