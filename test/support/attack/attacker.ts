import { fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Answers } from './attack-case.ts';
import type { AttackMessage, AttackReply } from './attacker-process.ts';
import type { FloodOptions } from './loads/flood.ts';
import type { SlowConnectionOptions } from './loads/slow-connections.ts';
import type { UploadOptions } from './loads/uploads.ts';

/** A process that sends the requests of an attack, so that they do not disturb the measurements in this one. */
export interface Attacker {
  flood(options: FloodOptions): Promise<Answers>;
  upload(options: UploadOptions): Promise<Answers>;
  openSlowConnections(options: SlowConnectionOptions): Promise<Answers>;
  close(): Promise<void>;
}

export function startAttacker(): Attacker {
  const file = fileURLToPath(new URL('./attacker-process.ts', import.meta.url));
  const child = fork(file, { execArgv: ['--import', import.meta.resolve('tsx')] });
  // The attacker shares the machine only here.
  setPriority(child.pid ?? 0, constants.priority.PRIORITY_BELOW_NORMAL);
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const load =
    <Options>(name: AttackMessage['load']) =>
    (options: Options) =>
      new Promise<Answers>((resolve, reject) => {
        child.once('message', ({ answers, error }: AttackReply) =>
          answers ? resolve(answers) : reject(new Error(error)),
        );
        child.once('exit', () => reject(new Error('the attacking process ended')));
        child.send({ load: name, options });
      });
  return {
    flood: load<FloodOptions>('flood'),
    upload: load<UploadOptions>('upload'),
    openSlowConnections: load<SlowConnectionOptions>('slowConnections'),
    close() {
      child.kill('SIGKILL');
      return ended;
    },
  };
}
