import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What `npm start` runs because nothing else was configured, and how the operator's command gets there. */
export interface OwnServices {
  databaseUrl?: string;
  redisUrl?: string;
  keepa?: { url: string; key: string };
}

const fileIn = (dataDir: string) => join(dataDir, 'services.json');

/** Leaves a note of the services for other programs of the same user: it holds their passwords. @returns what removes it. */
export async function noteOwnServices(dataDir: string, services: OwnServices): Promise<() => Promise<void>> {
  const file = fileIn(dataDir);
  // The mode of a file that a killed run has left would stay as it is.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify({ pid: process.pid, ...services })}\n`, { mode: 0o600 });
  return () => rm(file, { force: true });
}

/** The services of the `npm start` that runs on this folder; none when there is no such, or it was killed. */
export async function findOwnServices(dataDir: string): Promise<OwnServices> {
  try {
    const { pid, ...services } = JSON.parse(await readFile(fileIn(dataDir), 'utf8')) as OwnServices & {
      pid: number;
    };
    process.kill(pid, 0);
    return services;
  } catch {
    return {};
  }
}
