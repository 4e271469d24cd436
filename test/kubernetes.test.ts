import { readdirSync, readFileSync } from 'node:fs';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Service } from 'kubernetes-models/v1/Service';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { describeSettings } from '../src/config/config.ts';
import { WORKER_POOL_NAMES } from '../src/operations/pools.ts';

const FOLDER = new URL('../deploy/kubernetes/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, FOLDER), 'utf8');
const documentsOf = (file: string) =>
  parseAllDocuments(read(file)).map((document) => document.toJS() as Document);

const KINDS = { Deployment, HorizontalPodAutoscaler, Job, PodDisruptionBudget, Service };
const FILES = ['migrate.yaml', 'gateway.yaml', 'workers/base/worker.yaml', 'pod.yaml'];
const [gateway, worker] = [documentsOf('gateway.yaml'), documentsOf('workers/base/worker.yaml')];

test.each(FILES.filter((file) => file !== 'pod.yaml'))('%s is valid by the schemas of Kubernetes', (file) => {
  for (const document of documentsOf(file))
    new KINDS[document.kind as keyof typeof KINDS](document as never).validate();
  const wrong = { metadata: { name: 'x' }, spec: { replicas: 'two' } } as never;
  expect(() => new Deployment(wrong).validate()).toThrow('replicas must be integer');
});

test('each pool has a folder with its name as suffix and label, which the template and its autoscaler read', () => {
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
      labels: [{ pairs: { pool }, includeSelectors: true, fields }],
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

test('kustomization.yaml applies every file but the example of secrets, and every pool', () => {
  const { resources, patches } = parse(read('kustomization.yaml')) as Kustomization;
  const pools = WORKER_POOL_NAMES.map((pool) => `workers/${pool}`);
  expect(resources).toEqual(['settings.yaml', 'migrate.yaml', 'gateway.yaml', ...pools]);
  expect(patches).toEqual([{ path: 'pod.yaml', target: { kind: 'Deployment|Job' } }]);
  const names = FILES.map((file) => containerOf(documentsOf(file)).name);
  expect(new Set(names), 'pod.yaml completes the container of this name').toEqual(new Set(['souk']));
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
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
  spec?: { template?: { spec?: { containers: Container[] } } };
}

interface Container {
  name: string;
  env?: { name: string }[];
  envFrom?: { secretRef?: { name: string } }[];
  resources?: { requests?: object; limits?: object };
}

interface Kustomization {
  resources: string[];
  nameSuffix?: string;
  labels?: unknown;
  patches?: unknown;
}
