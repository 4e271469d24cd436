import type { Answers } from './attack-case.ts';
import { flood } from './loads/flood.ts';
import { openSlowConnections } from './loads/slow-connections.ts';
import { upload } from './loads/uploads.ts';

/** The program of the attacking process: runs one load for each message, one after the other. */
const LOADS = { flood, upload, slowConnections: openSlowConnections };

export interface AttackMessage {
  load: keyof typeof LOADS;
  options: unknown;
}

export interface AttackReply {
  answers?: Answers;
  error?: string;
}

let loads = 0;

process.on('message', ({ load, options }: AttackMessage) => {
  const run = LOADS[load] as (options: unknown, address: string) => Promise<Answers>;
  // Limits of addresses that one load has reached do not stop the next.
  loads += 1;
  run(options, `203.0.113.${loads}`).then(
    (answers) => process.send?.({ answers }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
