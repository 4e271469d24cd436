// Takes the place of the thread of large jobs: `does` says what happens to a job.
import { parentPort } from 'node:worker_threads';

const post = (message) => parentPort.postMessage(message);
const ended = (id) => post({ kind: 'ended', id, completion: { callId: String(id) } });

const ACTS = {
  answer: ended,
  break() {
    throw new Error('no memory is left');
  },
  hang() {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
  /** Waits until the process stops running the job. */
  wait() {},
  tokens: (id) => post({ kind: 'failed', id, error: new Error('no tokens'), awaitedMs: 1234 }),
  /** Ends only when it is run again. */
  again: (id, number) => number > 1 && ended(id),
};

post({ kind: 'ready' });
parentPort.on('message', ({ kind, id, attempt, reason }) => {
  if (kind === 'close') process.exit();
  if (kind === 'stop') post({ kind: 'failed', id, error: new Error(reason) });
  if (kind !== 'run') return;
  post({ kind: 'progress', id, percent: 50 });
  ACTS[attempt.data.does](id, attempt.number);
});
