import { parentPort, workerData } from 'node:worker_threads';
import type { AskNames } from './names.ts';
import { readPiece } from './read-piece.ts';
import type { FromReader, ReaderSetup, ToReader } from './reader-messages.ts';
import { openStaging } from './staging.ts';

/** Reads pieces that the main thread sends, one after the other, and requests the ids of names from it. */
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

/** An error ends this thread, and the main thread receives the error. */
async function read({ piece }: Extract<ToReader, { kind: 'piece' }>): Promise<void> {
  const staged = await stage(readPiece(piece));
  post({ kind: 'staged', piece: staged }, [staged.rows.buffer, staged.titles.buffer]);
}
