import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The embedded services of an `npm start`, with their addresses for the operator's command. */
export interface OwnServices {
  databaseUrl?: string;
  redisUrl?: string;
  keepa?: { url: string; key: string };
  /** The setting DEMO_DATA of the processes. */
  demoData?: string | undefined;
}

const fileIn = (dataDir: string) => join(dataDir, 'services.json');

/** Writes the services' addresses, with passwords, to a file for programs of the same user. @returns a function that removes it. */
export async function writeOwnServices(dataDir: string, services: OwnServices): Promise<() => Promise<void>> {
  const file = fileIn(dataDir);
  // Writing to a file that a killed run left would keep its mode.
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify({ pid: process.pid, ...services })}\n`, { mode: 0o600 });
  return () => rm(file, { force: true });
}

/** Returns the services of the `npm start` that uses this folder; none if it is not running. */
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
