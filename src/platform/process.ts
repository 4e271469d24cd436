interface RunningProcess {
  close(): Promise<void>;
  /**
   * Called while `close` takes long. If that is because Redis is down, does what must not be left out before the process exits, within
   * about two seconds, and returns true.
   */
  leaveWithoutRedis?(): Promise<boolean>;
  /** A line for standard output. */
  ready: string;
}

/** A message to the parent process over the IPC channel, if there is one. */
export type ProcessMessage = { ready: string } | { failed: string };

/** A process that does not stop within this time exits. */
const STOP_LIMIT_MS = 25_000;

/** A process that has not stopped within this time exits if Redis is down. */
const STOP_LIMIT_WITHOUT_REDIS_MS = 5_000;

/**
 * The limit after the parent was killed. It is shorter, because the stores that the parent started are gone, and closing may
 * wait for them.
 */
const ORPHAN_STOP_LIMIT_MS = 5_000;

/**
 * Runs one of Souk's processes: starts it, reports to the parent or the terminal when it is ready, and stops it on SIGINT,
 * SIGTERM or the end of the parent. A failed start ends the process with a sentence that gives the reason.
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
    const leave = async () => {
      if (await running.leaveWithoutRedis?.()) process.exit(0);
    };
    const end = async () => {
      // Redis may have stopped later.
      await leave();
      process.stderr.write(`The ${name} did not stop within ${limitMs / 1000} s.\n`);
      process.exit(1);
    };
    setTimeout(() => void leave(), STOP_LIMIT_WITHOUT_REDIS_MS).unref();
    setTimeout(() => void end(), limitMs).unref();
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
  // A killed parent sends no signal, but its channel closes.
  process.on('disconnect', () => stop(ORPHAN_STOP_LIMIT_MS));
}

function tell(message: ProcessMessage, line: string, stream: NodeJS.WriteStream): void {
  if (process.send) process.send(message);
  else stream.write(`${line}\n`);
}
