import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { ReportSite } from '../../operations/brand-analytics/keywords/sites.ts';
import { isCompiled, projectFile } from '../../platform/project.ts';
import type { AskNames } from './names.ts';
import type { ReportPiece } from './read-piece.ts';
import type { FromReader, ReaderSetup, ToReader } from './reader-messages.ts';
import type { StagedPiece } from './report.ts';

export interface ReaderThreads {
  mostUnderWay: number;
  read(piece: ReportPiece): Promise<StagedPiece>;
  close(): Promise<void>;
}

const MOST_THREADS = 4;

/** One piece is read, one waits for ids of its names, and one is queued. */
const PIECES_A_THREAD = 3;

/** Starts threads that read pieces. */
export function openReaderThreads(site: ReportSite, ask: AskNames): ReaderThreads {
  const threads = Array.from({ length: Math.min(availableParallelism(), MOST_THREADS) }, () =>
    openThread({ site }, ask),
  );
  return {
    mostUnderWay: threads.length * PIECES_A_THREAD,
    read(piece) {
      const idlest = threads.reduce((one, other) => (other.underWay < one.underWay ? other : one));
      return idlest.read(piece);
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}

function openThread(setup: ReaderSetup, ask: AskNames) {
  const worker = new Worker(
    projectFile(`src/brand-analytics/import/reader-thread.${isCompiled ? 'js' : 'mjs'}`),
    {
      workerData: setup,
    },
  );
  /** Replies have the order of the pieces. */
  const waiting: { resolve(piece: StagedPiece): void; reject(error: Error): void }[] = [];
  const post = (message: ToReader, transfer: ArrayBuffer[] = []) => worker.postMessage(message, transfer);
  const failures: Error[] = [];

  function fail(error: Error): void {
    failures.push(error);
    for (const piece of waiting.splice(0)) piece.reject(error);
  }

  worker.on('error', fail);
  worker.on('exit', () => fail(new Error('a thread that reads the report has stopped')));
  worker.on('message', (message: FromReader) => {
    if (message.kind === 'staged') waiting.shift()?.resolve(message.piece);
    else ask(message.names).then((ids) => post({ kind: 'ids', ids }), fail);
  });

  return {
    get underWay() {
      return waiting.length;
    },
    read(piece: ReportPiece): Promise<StagedPiece> {
      for (const failure of failures) return Promise.reject(failure);
      post({ kind: 'piece', piece }, [piece.bytes.buffer]);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    async close() {
      await worker.terminate();
    },
  };
}
