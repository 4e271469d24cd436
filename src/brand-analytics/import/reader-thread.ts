import { parentPort, workerData } from 'node:worker_threads';
import type { AskNames } from './names.ts';
import { readPiece } from './read-piece.ts';
import type { FromReader, ReaderSetup, ToReader } from './reader-messages.ts';
import { openStaging } from './staging.ts';

/** Reads pieces that the main thread hands over, one after the other, and asks it for the ids of names. */
const { site } = workerData as ReaderSetup;
const post = (message: FromReader, transfer: ArrayBuffer[] = []) =>
  parentPort?.postMessage(message, transfer);
const asked: ((ids: Awaited<ReturnType<AskNames>>) => void)[] = [];

const stage = openStaging(site, (names) => {
  post({ kind: 'names', names });
  return new Promise((resolve) => asked.push(resolve));
});

parentPort?.on('message', (message: ToReader) => {
  if (message.kind === 'ids') asked.shift()?.(message.ids);
  else void read(message);
});

/** What goes wrong here ends the thread, and the main thread hears of it. */
async function read({ piece }: Extract<ToReader, { kind: 'piece' }>): Promise<void> {
  const staged = await stage(readPiece(piece));
  post({ kind: 'staged', piece: staged }, [staged.rows.buffer, staged.titles.buffer]);
}
