// `npm start`: installs what is missing, then starts Souk in this process, so that signals reach it directly.
import { ensureInstalled, root } from './install.mjs';

process.chdir(root);
ensureInstalled();
const { register } = await import('tsx/esm/api');
register();
await import('../src/start.ts');
