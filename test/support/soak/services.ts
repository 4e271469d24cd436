import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase, STATEMENT_LIMITS } from '../../../src/platform/db/pool.ts';
import { run } from '../../../src/platform/embedded/binaries.ts';
import { freePort } from '../../../src/platform/embedded/server-process.ts';
import { createLogger } from '../../../src/platform/log.ts';
import { openProxy, type StoreProxy } from '../proxy.ts';
import { unlimited } from '../unlimited.ts';
import type { Granted } from './judge/history.ts';
import type { Server, Topology } from './plan.ts';
import { type Program, startProgram } from './program.ts';
import { openSoakStores } from './stores.ts';

/** The whole service in separate processes, each of which can be killed and restarted at its address. */
export interface SoakServices {
  database: Database;
  /** Addresses of the gateways. */
  gateways: readonly string[];
  /** The networks between processes and stores, such as `gateway 1 to redis`. */
  links: ReadonlyMap<Server, StoreProxy>;
  /** Ends all processes of a server (SIGKILL). */
  kill(server: Server): Promise<void>;
  /** @param forgetting deletes the data of Redis first. */
  restart(server: Server, forgetting: boolean): Promise<void>;
  /** Stops all processes of a server (SIGSTOP): connections stay open, and nothing is answered. @returns what continues them. */
  freeze(server: Server): Promise<() => void>;
  /** Makes the standby the primary, while the former one is read-only and keeps its connections; then rebuilds it as standby. */
  changeRoles(): Promise<void>;
  /** The process ids of gateways and workers. */
  pids(): Record<Server, number>;
  /** Processes that ended without being killed. */
  surprises: readonly string[];
  /** Folder of the logs; removed by `close`. */
  folder: string;
  close(): Promise<void>;
}

/** Slow and faulty enough that jobs are running when a process is killed, and some calls are released. */
const PROVIDER = {
  DEMO_LATENCY_MS: '150',
  DEMO_TOKENS_PER_MINUTE: '1000000',
  DEMO_FAIL_RATE: '0.05',
  DEMO_ERROR_BODY_RATE: '0.05',
  DEMO_TRUNCATE_RATE: '0.02',
  DEMO_MALFORMED_RATE: '0.02',
};

/** There are two workers. With a standby, the address of PostgreSQL leads to the primary of the time. */
export async function openSoakServices(options: {
  programs: string;
  topology: Topology;
  window: Granted['window'];
}): Promise<SoakServices> {
  const folder = await mkdtemp(join(tmpdir(), 'souk-soak-'));
  await chmod(folder, 0o755);
  const { programs, topology, window } = options;
  const links = new Map<Server, StoreProxy>();
  const surprises: string[] = [];
  const undo: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async () => {
    // Stops in reverse order, because later processes depend on earlier ones.
    for (const step of undo.splice(0).reverse()) await step();
  };
  const open = async (name: Server, url: string) => {
    const link = await openProxy(url);
    links.set(name, link);
    undo.push(() => link.close());
    return link.url;
  };
  try {
    const stores = await openSoakStores({ folder, topology, open, undo });
    const database = openDatabase(stores.databaseUrl, createLogger('silent'), {
      limits: STATEMENT_LIMITS.unlimited,
    });
    undo.push(() => database.end());

    const start = async (name: string, file: string, env: Record<string, string>) => {
      const logFile = join(folder, `${name.replace(' ', '-')}.log`);
      const onSurprise = (sentence: string) => surprises.push(sentence);
      const program = await startProgram({ name, file: join(programs, file), env, logFile, onSurprise });
      undo.push(async () => void (await program.stop()));
      return program;
    };
    const provider = await start('provider', 'demo/main.js', PROVIDER);
    const env = settingsOf(provider.ready, topology, window);
    /** Each process has networks of its own. Nodes of a cluster have one for all processes. */
    const envOf = async (name: string) => ({
      ...env,
      DATABASE_URL: await open(`${name} to postgres`, stores.databaseUrl),
      REDIS_URL: stores.nodesUrl ?? (await open(`${name} to redis`, stores.redisUrl ?? '')),
    });
    const running: Record<Server, Program> = {};
    // An interrupted run leaves no process behind.
    const killAll = () => {
      const programs = [...Object.values(running), provider].map((program) => program.pid());
      for (const pid of [...stores.pids(), ...programs]) kill(pid);
    };
    process.once('exit', killAll);
    undo.push(async () => void process.off('exit', killAll));
    // Workers start first, because a gateway without workers refuses calls.
    const workers = [1, 2].map(async (nth) => {
      const name = `worker ${nth}`;
      running[name] = await start(name, 'workers/main.js', await envOf(name));
    });
    await Promise.all(workers);
    const gateways = Array.from({ length: topology.gateways }, async (_, i) => {
      const [name, port] = [`gateway ${i + 1}`, String(await freePort())];
      const gateway = await start(name, 'src/main.js', { ...(await envOf(name)), PORT: port });
      running[name] = gateway;
      return gateway.ready;
    });

    return {
      database,
      gateways: await Promise.all(gateways),
      links,
      surprises,
      folder,
      kill: (server) => running[server]?.kill() ?? stores.kill(server),
      restart: (server, forgetting) => running[server]?.restart() ?? stores.restart(server, forgetting),
      changeRoles: () => stores.changeRoles(),
      freeze: (server) => freeze(stores.pidOf(server) ?? running[server]?.pid() ?? 0),
      pids: () => Object.fromEntries(Object.entries(running).map(([name, program]) => [name, program.pid()])),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The settings that all processes share. */
function settingsOf(providerUrl: string, { providers = 1 }: Topology, window: Granted['window']) {
  return {
    KEEPA_BASE_URL: providerUrl,
    KEEPA_API_KEY: Array.from({ length: providers }, (_, i) => `soak-${i}:soak-soak-soak-${i}`).join(','),
    LOG_LEVEL: 'warn',
    // No client has a test key, and loading their reports takes time of the processors.
    TEST_MODE: 'off',
    // A few accounts send everything.
    ...unlimited({ STORE_ANSWER_LIMIT_MS: 3_000 }),
    OFF_PEAK_WINDOW: `${window.start}-${window.end}`,
    OFF_PEAK_TIMEZONE: window.timezone,
    // Webhooks go to a receiver on this machine.
    WEBHOOK_ALLOW_PRIVATE: 'true',
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended meanwhile.
  }
}

/** Stops a process and its children. @returns what continues them. */
async function freeze(parent: number): Promise<() => void> {
  const frozen: number[] = [];
  const signal = (pid: number, name: 'SIGSTOP' | 'SIGCONT') => {
    try {
      process.kill(pid, name);
      return true;
    } catch {
      // The process has ended meanwhile.
      return false;
    }
  };
  const stop = (pid: number) => signal(pid, 'SIGSTOP') && frozen.push(pid);
  // The parent first, so that it starts no more of them.
  stop(parent);
  for (const pid of await childrenOf(parent)) stop(pid);
  return () => {
    for (const pid of frozen.reverse()) signal(pid, 'SIGCONT');
  };
}

async function childrenOf(parent: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'ppid=,pid=']);
  const pairs = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([ppid, pid = 0]) => (ppid === parent ? [pid] : []));
}
