import { parentPort, workerData } from 'node:worker_threads';
import { columnOf, type Wanted } from './file-column.ts';
import { rowsOfFile, Unreadable } from './read-rows.ts';

/** Reads one file, and answers with its column or with what is wrong. */
async function read({ bytes, wanted }: { bytes: Uint8Array; wanted: Wanted }) {
  try {
    return { column: columnOf(await rowsOfFile(bytes), wanted) };
  } catch (error) {
    if (error instanceof Unreadable) return { problem: error.message };
    throw error;
  }
}

parentPort?.postMessage(await read(workerData as { bytes: Uint8Array; wanted: Wanted }));
