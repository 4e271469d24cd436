import { systemClock } from '../src/platform/clock.ts';
import { runProcess } from '../src/platform/process.ts';
import { buildDemoProvider } from './server.ts';
import { readDemoSettings } from './settings.ts';

/** The demo provider process. Its ready line is its base address. */
await runProcess('demo provider', async (env) => {
  const settings = readDemoSettings(env);
  const app = buildDemoProvider(settings, systemClock);
  const address = await app.listen({ host: '127.0.0.1', port: settings.DEMO_PORT });
  return { close: () => app.close(), ready: address };
});
