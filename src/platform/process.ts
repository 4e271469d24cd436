export interface RunningProcess {
  close(): Promise<void>;
  /** A line for whoever reads standard output. */
  ready: string;
}

/** What a parent process is told over the IPC channel, where there is one. */
export type ProcessMessage = { ready: string } | { failed: string };

/** A process that does not stop by itself within this time is ended. */
const STOP_LIMIT_MS = 25_000;

/** The same when the parent was killed: the stores it had started are gone as well, and closing may wait for them. */
const ORPHAN_STOP_LIMIT_MS = 5_000;

/**
 * Runs one of our processes: starts it, tells the parent (or the terminal) when it is ready, stops it on SIGINT,
 * SIGTERM or when the parent has gone. A start that fails ends the process with a sentence that says why.
 */
export async function runProcess(
  name: string,
  start: (env: NodeJS.ProcessEnv) => Promise<RunningProcess>,
): Promise<void> {
  let running: RunningProcess;
  try {
    running = await start(process.env);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    tell({ failed: reason }, `The ${name} cannot start: ${reason}`, process.stderr);
    process.exit(1);
  }
  tell({ ready: running.ready }, running.ready, process.stdout);

  let stopping = false;
  const stop = (limitMs: number) => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), limitMs).unref();
    running.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`The ${name} did not stop cleanly: ${String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGINT', () => stop(STOP_LIMIT_MS));
  process.on('SIGTERM', () => stop(STOP_LIMIT_MS));
  // A parent that was killed cannot send a signal; its channel closes.
  process.on('disconnect', () => stop(ORPHAN_STOP_LIMIT_MS));
}

function tell(message: ProcessMessage, line: string, stream: NodeJS.WriteStream): void {
  if (process.send) process.send(message);
  else stream.write(`${line}\n`);
}
