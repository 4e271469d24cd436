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

process.on('message', ({ load, options }: AttackMessage) => {
  const run = LOADS[load] as (options: unknown) => Promise<Answers>;
  run(options).then(
    (answers) => process.send?.({ answers }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
