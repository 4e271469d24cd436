import { readdirSync, readFileSync } from 'node:fs';
import { Command } from 'commander';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Service } from 'kubernetes-models/v1/Service';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { registerCommands } from '../src/cli/program.ts';
import { describeSettings, readConfig } from '../src/config/config.ts';
import { BATCH_POOL, WORKER_POOL_NAMES } from '../src/operations/pools.ts';

const FOLDER = new URL('../deploy/kubernetes/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, FOLDER), 'utf8');
const documentsOf = (file: string) =>
  parseAllDocuments(read(file)).map((document) => document.toJS() as Document);

const KINDS = {
  CronJob,
  Ingress,
  PersistentVolumeClaim,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  PodDisruptionBudget,
  Service,
};
const FILES = ['migrate.yaml', 'gateway.yaml', 'workers/base/worker.yaml', 'pod.yaml'];
const [gateway, worker] = [documentsOf('gateway.yaml'), documentsOf('workers/base/worker.yaml')];

test.each(FILES.filter((file) => file !== 'pod.yaml'))('%s is valid by the schemas of Kubernetes', (file) => {
  for (const document of documentsOf(file))
    new KINDS[document.kind as keyof typeof KINDS](document as never).validate();
  const wrong = { metadata: { name: 'x' }, spec: { replicas: 'two' } } as never;
  expect(() => new Deployment(wrong).validate()).toThrow('replicas must be integer');
});

test('each pool has a folder with its name as suffix and label, which the template and the autoscaler of a pool of calls read', () => {
  const folders = readdirSync(new URL('workers/', FOLDER)).filter((name) => name !== 'base');
  expect(folders.toSorted()).toEqual(WORKER_POOL_NAMES.toSorted());
  for (const pool of folders) {
    const { resources, nameSuffix, labels } = parse(
      read(`workers/${pool}/kustomization.yaml`),
    ) as Kustomization;
    const path = 'spec/metrics[]/external/metric/selector/matchLabels';
    const fields = [{ kind: 'HorizontalPodAutoscaler', path, create: true }];
    expect({ resources, nameSuffix, labels }).toEqual({
      resources: ['../base'],
      nameSuffix: `-${pool}`,
      labels: [{ pairs: { pool }, includeSelectors: true, ...(pool !== BATCH_POOL && { fields }) }],
    });
  }
  expect(containerOf(worker).env).toContainEqual({
    name: 'WORKER_POOLS',
    valueFrom: { fieldRef: { fieldPath: "metadata.labels['pool']" } },
  });
  expect(JSON.stringify(worker)).toContain(
    '"metric":{"name":"souk_queue_expected_wait_seconds","selector":{"matchLabels":{}}}',
  );
});

test('the pool of batches, which has no expected wait, is scaled by processor use like gateways', () => {
  const { patches } = parse(read(`workers/${BATCH_POOL}/kustomization.yaml`)) as { patches: Patch[] };
  const { patch = '' } = patches.find(({ target }) => target?.kind === 'HorizontalPodAutoscaler') ?? {};
  const ofGateway = gateway.find(({ kind }) => kind === 'HorizontalPodAutoscaler') as
    | { spec: { metrics: unknown } }
    | undefined;
  expect(parse(patch)).toEqual([{ op: 'replace', path: '/spec/metrics', value: ofGateway?.spec.metrics }]);
});

test('kustomization.yaml applies every file but the example of secrets, and every pool', () => {
  const { resources, patches } = parse(read('kustomization.yaml')) as Kustomization;
  const pools = WORKER_POOL_NAMES.map((pool) => `workers/${pool}`);
  expect(resources).toEqual(['settings.yaml', 'migrate.yaml', 'gateway.yaml', ...pools]);
  expect(patches).toEqual([{ path: 'pod.yaml', target: { kind: 'Deployment|Job' } }]);
  const names = FILES.map((file) => containerOf(documentsOf(file)).name);
  expect(new Set(names), 'pod.yaml completes the container of this name').toEqual(new Set(['souk']));
});

test('an upgrade by the documents first applies the migrations, and nothing else', () => {
  const [, label = '', value] = /--selector (\S+)=(\S+)/.exec(read('../../docs/operating/install.md')) ?? [];
  const files = ['settings.yaml', ...FILES.filter((file) => file !== 'pod.yaml')];
  const applied = files.flatMap(documentsOf).filter(({ metadata }) => metadata.labels?.[label] === value);
  expect(applied.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([['Job', 'souk-migrate']]);
});

test('pods have probes, time to stop, replacements during an update, and a limit of memory but not of processor time', () => {
  expect(containerOf(gateway)).toMatchObject({
    livenessProbe: { httpGet: { path: '/healthz' } },
    readinessProbe: { httpGet: { path: '/readyz' } },
    startupProbe: { httpGet: { path: '/healthz' } },
    lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
  });
  expect(containerOf(worker)).toMatchObject({
    livenessProbe: { tcpSocket: { port: 'metrics' } },
    readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' } },
    startupProbe: { tcpSocket: { port: 'metrics' } },
  });
  for (const [deployment] of [gateway, worker]) {
    // A worker waits ten seconds for its jobs, and a gateway for its requests, after the five of its preStop hook.
    expect(deployment?.spec?.template?.spec).toMatchObject({ terminationGracePeriodSeconds: 30 });
    expect(deployment?.spec).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0 } } });
  }
  for (const file of ['migrate.yaml', 'gateway.yaml', 'workers/base/worker.yaml']) {
    const { resources } = containerOf(documentsOf(file));
    expect(Object.keys(resources?.requests ?? {})).toEqual(['cpu', 'memory']);
    expect(Object.keys(resources?.limits ?? {}), 'a limit of the processor would stop it').toEqual([
      'memory',
    ]);
  }
});

test('settings and secrets have names of settings, and a process receives only the secrets that it needs', () => {
  const holders = ['settings.yaml', 'secrets.example.yaml'].flatMap(documentsOf);
  const known = describeSettings().map(({ name }) => name);
  for (const { data, stringData } of holders)
    for (const name of Object.keys(data ?? stringData ?? {})) expect(known).toContain(name);
  for (const { name } of [...(containerOf(gateway).env ?? []), ...(containerOf(worker).env ?? [])])
    expect(known).toContain(name);
  const batch = read('workers/batch/kustomization.yaml').matchAll(/secretRef: \{ name: ([\w-]+) \}/g);
  const given = {
    migrate: secretsOf(documentsOf('migrate.yaml')),
    gateway: secretsOf(gateway),
    worker: secretsOf(worker),
    batch: [...batch].map(([, name]) => name ?? ''),
  };
  expect(given).toEqual({
    migrate: ['souk-stores'],
    gateway: ['souk-stores', 'souk-keys', 'souk-gateway', 'souk-payments'],
    worker: ['souk-stores', 'souk-keys', 'souk-upstream'],
    batch: ['souk-reports', 'souk-mail', 'souk-payments'],
  });
  const secrets = holders.filter(({ kind }) => kind === 'Secret').map(({ metadata }) => metadata.name);
  expect(new Set(Object.values(given).flat())).toEqual(new Set(secrets));
});

describe('the example of an installation', () => {
  const EXAMPLE = '../kubernetes-example/';
  const example = parse(read(`${EXAMPLE}kustomization.yaml`)) as Kustomization;
  /** The documents of the base with the names of their pools. */
  const base = [
    ...['settings.yaml', 'migrate.yaml', 'gateway.yaml'].flatMap(documentsOf),
    ...WORKER_POOL_NAMES.flatMap((pool) =>
      documentsOf('workers/base/worker.yaml').map((document) => ({
        ...document,
        metadata: { name: `${document.metadata.name}-${pool}` },
      })),
    ),
  ];
  const found = (kind: string | undefined, name: string | undefined) =>
    base.find((document) => document.kind === kind && document.metadata.name === name);

  test('has the base, files that exist and are valid, and its image in place of that of the base', () => {
    expect(example.resources).toEqual(['../kubernetes', 'ingress.yaml', 'backup.yaml']);
    for (const document of ['ingress.yaml', 'backup.yaml'].flatMap((file) => documentsOf(EXAMPLE + file)))
      new KINDS[document.kind as keyof typeof KINDS](document as never).validate();
    const [ofBase] = (parse(read('kustomization.yaml')) as Kustomization).images ?? [];
    expect(example.images?.map(({ name }) => name)).toEqual([ofBase?.newName]);
  });

  test('changes only what the base has, and the result is valid', () => {
    const patches = (example.patches as Patch[]).filter(({ patch }) => patch);
    expect(patches.length).toBeGreaterThan(3);
    for (const { target, patch = '' } of patches) {
      const change = parse(patch) as Operation[] | (Document & { $patch: string });
      if (!Array.isArray(change)) {
        expect(found(change.kind, change.metadata.name), patch).toBeDefined();
        expect(change.$patch).toBe('delete');
        continue;
      }
      const document = structuredClone(found(target?.kind, target?.name));
      if (!document) throw new Error(`The base has no ${target?.kind} ${target?.name}.`);
      for (const { op, path, value } of change) {
        const names = path.split('/').slice(1);
        const last = names.pop() ?? '';
        // biome-ignore lint/suspicious/noExplicitAny: the path says what it is.
        const holder = names.reduce((inner: any, name) => inner?.[name], document);
        expect([op, holder?.[last]], path).toEqual(['replace', expect.anything()]);
        holder[last] = value;
      }
      new KINDS[document.kind as keyof typeof KINDS](document as never).validate();
    }
  });

  test('has valid settings of one address, which the ingress serves through the gateways', () => {
    const [settings] = documentsOf(`${EXAMPLE}settings.yaml`);
    const [ofBase] = documentsOf('settings.yaml');
    expect(settings?.metadata).toEqual(ofBase?.metadata);
    const config = readConfig({ ...ofBase?.data, ...settings?.data });
    for (const name of Object.keys(settings?.data ?? {}))
      expect(describeSettings().map((one) => one.name)).toContain(name);
    const ingress = JSON.stringify(documentsOf(`${EXAMPLE}ingress.yaml`));
    expect(ingress).toContain(`"host":"${new URL(config.PUBLIC_URL ?? '').host}"`);
    const service = gateway.find(({ kind }) => kind === 'Service') as
      | { metadata: { name: string } }
      | undefined;
    expect(ingress).toContain(`"service":{"name":"${service?.metadata.name}","port":{"name":"http"}}`);
  });

  test('backs up with a command that exists and the secrets that it needs', () => {
    const [job] = documentsOf(`${EXAMPLE}backup.yaml`) as unknown as {
      spec: { jobTemplate: Document };
    }[];
    const container = containerOf([job?.spec.jobTemplate as Document]);
    const [node, program, name = '', option] = container.command ?? [];
    expect([node, program]).toEqual(['node', 'dist/src/cli.js']);
    const souk = new Command();
    registerCommands(souk);
    const options = souk.commands.find((command) => command.name() === name)?.options ?? [];
    expect(options.map(({ long }) => long)).toContain(option);
    expect(container.envFrom?.map(({ secretRef }) => secretRef?.name)).toEqual(['souk-stores', 'souk-keys']);
  });
});

function containerOf([document]: readonly Document[]): Container {
  const [container] = document?.spec?.template?.spec?.containers ?? [];
  if (!container) throw new Error('The manifest has no container.');
  return container;
}

function secretsOf(documents: readonly Document[]): string[] {
  return (containerOf(documents).envFrom ?? []).flatMap(({ secretRef }) => secretRef?.name ?? []);
}

interface Document {
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: { template?: { spec?: { containers: Container[] } } };
}

interface Container {
  name: string;
  command?: string[];
  env?: { name: string }[];
  envFrom?: { secretRef?: { name: string } }[];
  resources?: { requests?: object; limits?: object };
}

interface Kustomization {
  resources: string[];
  nameSuffix?: string;
  labels?: unknown;
  patches?: unknown;
  images?: { name: string; newName: string }[];
}

interface Patch {
  target?: { kind: string; name: string };
  patch?: string;
}

interface Operation {
  op: string;
  path: string;
  value: unknown;
}
