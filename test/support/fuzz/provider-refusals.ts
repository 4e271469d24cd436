import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Target } from '../target.ts';
import type { FuzzFault } from './judge.ts';

/** Answers that blame the provider. The worker's log says whether the provider refused the request. */
export interface ProviderRefusals {
  /** @param fault to report unless the provider has refused the request. */
  note(text: string, fault: FuzzFault): void;
  /** Returns the faults of answers for which the provider has no refusal. */
  unexplained(): Promise<FuzzFault[]>;
}

const ERROR_ID = /"errorId":"([^"]*)"/;

/** The message of the provider for a request that it never answers. */
const REFUSES = /"reason":"HTTP 4\d\d, (invalidParameter|parameterOutOfRange)/;

export function createProviderRefusals({ folder }: Target): ProviderRefusals {
  const noted = new Map<string, FuzzFault>();
  return {
    note(text, fault) {
      noted.set(ERROR_ID.exec(text)?.[1] ?? text, fault);
    },
    async unexplained() {
      const log = await readFile(join(folder, 'worker.log'), 'utf8');
      for (const line of log.split('\n'))
        if (REFUSES.test(line)) noted.delete(ERROR_ID.exec(line)?.[1] ?? '');
      return [...noted.values()];
    },
  };
}
