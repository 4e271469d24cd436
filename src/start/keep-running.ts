import { setTimeout as pause } from 'node:timers/promises';

/** An embedded server, such as PostgreSQL. */
interface EmbeddedServer {
  url: string;
  pid: number;
  /** Resolves when the server has ended for any reason. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

interface KeptServer {
  /** Does not change when the server is started again. */
  url: string;
  stop(): Promise<void>;
}

/** A killed PostgreSQL may leave processes that hold its memory for a moment; until they end it cannot start. */
const MOST_ATTEMPTS = 30;
const PAUSE_MS = 1_000;

/**
 * Starts an embedded server, and starts it again at the same address whenever it ends by itself. Its data is on disk.
 * @param launch starts it, at the address of an earlier start if there is one.
 * @param onLost receives the reason when it cannot be started again.
 */
export async function keepRunning(
  name: string,
  launch: (url?: string) => Promise<EmbeddedServer>,
  {
    say,
    onLaunch,
    onLost,
  }: {
    say(line: string): void;
    onLaunch(pid: number): void;
    onLost(error: unknown): void;
  },
): Promise<KeptServer> {
  let server = await launch();
  const { url } = server;
  onLaunch(server.pid);
  let stopping = false;

  async function supervise(): Promise<void> {
    for (;;) {
      await server.ended;
      if (stopping) return;
      say(`The embedded ${name} ended; starting it again.`);
      server = await launchAgain();
      onLaunch(server.pid);
      if (stopping) await server.stop();
    }
  }

  async function launchAgain(): Promise<EmbeddedServer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await launch(url);
      } catch (error) {
        if (stopping || attempt === MOST_ATTEMPTS) throw error;
        await pause(PAUSE_MS);
      }
    }
  }

  const supervised = supervise().catch((error: unknown) => {
    if (!stopping) onLost(error);
  });
  return {
    url,
    async stop() {
      stopping = true;
      await server.stop();
      await supervised;
    },
  };
}
