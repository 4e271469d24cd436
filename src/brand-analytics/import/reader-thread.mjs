// Threads do not take tsx over from who starts them.
import { register } from 'tsx/esm/api';

register();
await import('./reader-thread.ts');
