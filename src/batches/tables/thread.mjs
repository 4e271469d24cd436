// Starts thread.ts in a checkout: Node 20 does not preload tsx in threads. Compiled code needs no tsx.
import { register } from 'tsx/esm/api';

register();
await import('./thread.ts');
