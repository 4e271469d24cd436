import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import {
  HorizontalPodAutoscaler,
  type IHorizontalPodAutoscaler,
} from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { type IJob, Job } from 'kubernetes-models/batch/v1/Job';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { type IService, Service } from 'kubernetes-models/v1/Service';
import { stringify } from 'yaml';
import { WORKER_POOL_NAMES, type WorkerPoolName } from '../src/operations/pools.ts';

type Spec<T extends { spec?: unknown }> = NonNullable<T['spec']>;
type Container = NonNullable<Spec<IDeployment>['template']['spec']>['containers'][number];
type Metric = NonNullable<Spec<IHorizontalPodAutoscaler>['metrics']>[number];

/** A manifest that can check itself against the schema of its kind. */
export interface Manifest {
  kind: string;
  metadata?: { name?: string };
  /** @throws what is wrong with it. */
  validate(): void;
}

/** Replaced by `kustomization.yaml`. */
const IMAGE = 'souk';
const GATEWAY_PORT = 3000;
const METRICS_PORT = 9464;

/** A new job may wait this long before another worker is started. The shortest timeout of a pool is 30 s. */
const WANTED_WAIT_SECONDS = '5';

/**
 * The most workers of a pool. Pools whose calls take tokens or turns of a provider stay small: more workers do not get more data
 * from it, see docs/operating/scaling.md.
 */
const MAX_WORKERS: Record<WorkerPoolName, number> = {
  market: 8,
  lightning: 4,
  storefront: 4,
  graph: 4,
  keywords: 8,
  trends: 2,
  test: 2,
  batch: 4,
};

/** Returns the files of `deploy/kubernetes` that are generated, with the manifests of each. */
export function kubernetesFiles(): Record<string, Manifest[]> {
  return {
    'migrate.yaml': [migration()],
    'gateway.yaml': gateway(),
    'workers.yaml': WORKER_POOL_NAMES.flatMap(worker),
  };
}

export function asYaml(manifests: readonly Manifest[]): string {
  const note = '# Written by `npm run generate` from scripts/kubernetes.ts.\n';
  return `${note}${manifests.map((manifest) => stringify(JSON.parse(JSON.stringify(manifest)))).join('---\n')}`;
}

function migration(): Manifest {
  const spec: Spec<IJob> = {
    backoffLimit: 5,
    ttlSecondsAfterFinished: 3_600,
    template: {
      metadata: { labels: labelsOf('migrate') },
      spec: {
        restartPolicy: 'OnFailure',
        ...forAll(),
        containers: [
          { ...program('migrate', 'dist/src/migrate.js', ['souk-stores']), ...resources('100m', '256Mi') },
        ],
      },
    },
  };
  return new Job({ metadata: { name: 'souk-migrate', labels: labelsOf('migrate') }, spec });
}

function gateway(): Manifest[] {
  const name = 'souk-gateway';
  const labels = labelsOf('gateway');
  const http = { port: 'http' };
  const container: Container = {
    ...program('gateway', 'dist/src/main.js', ['souk-stores', 'souk-keys', 'souk-gateway', 'souk-payments']),
    env: [
      { name: 'HOST', value: '0.0.0.0' },
      { name: 'PORT', value: String(GATEWAY_PORT) },
    ],
    ports: [{ name: 'http', containerPort: GATEWAY_PORT }],
    // Restarting a gateway helps against a fault of its own, not against stores that do not answer: those are readiness.
    livenessProbe: {
      httpGet: { path: '/healthz', ...http },
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    },
    readinessProbe: {
      httpGet: { path: '/readyz', ...http },
      periodSeconds: 5,
      timeoutSeconds: 3,
      failureThreshold: 2,
    },
    startupProbe: { httpGet: { path: '/healthz', ...http }, periodSeconds: 2, failureThreshold: 30 },
    // Other pods learn within seconds that this one ends, and send requests until then.
    lifecycle: { preStop: { exec: { command: ['sleep', '5'] } } },
    ...resources('500m', '384Mi'),
  };
  const service: Spec<IService> = {
    selector: labels,
    ports: [{ name: 'http', port: 80, targetPort: 'http' }],
  };
  const byProcessor: Metric = {
    type: 'Resource',
    resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
  };
  return [
    deployment(name, labels, container),
    new Service({ metadata: { name, labels }, spec: service }),
    disruptionBudget(name, labels),
    autoscaler(name, labels, { minReplicas: 2, maxReplicas: 10 }, byProcessor),
  ];
}

function worker(pool: WorkerPoolName): Manifest[] {
  const name = `souk-worker-${pool}`;
  const labels = { ...labelsOf('worker'), 'souk/pool': pool };
  const secrets = [
    'souk-stores',
    'souk-keys',
    'souk-upstream',
    ...(pool === 'batch' ? ['souk-reports', 'souk-mail', 'souk-payments'] : []),
  ];
  const container: Container = {
    ...program('worker', 'dist/workers/main.js', secrets),
    env: [
      { name: 'HOST', value: '0.0.0.0' },
      { name: 'METRICS_PORT', value: String(METRICS_PORT) },
      { name: 'WORKER_POOLS', value: pool },
    ],
    ports: [{ name: 'metrics', containerPort: METRICS_PORT }],
    livenessProbe: {
      tcpSocket: { port: 'metrics' },
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    },
    readinessProbe: { httpGet: { path: '/readyz', port: 'metrics' }, periodSeconds: 5, timeoutSeconds: 3 },
    startupProbe: { tcpSocket: { port: 'metrics' }, periodSeconds: 2, failureThreshold: 30 },
    // Large jobs have a thread of their own, with its own memory.
    ...resources('250m', '512Mi', '2Gi'),
  };
  const byExpectedWait: Metric = {
    type: 'External',
    external: {
      metric: { name: 'souk_queue_expected_wait_seconds', selector: { matchLabels: { pool } } },
      target: { type: 'Value', value: WANTED_WAIT_SECONDS },
    },
  };
  return [
    deployment(name, labels, container),
    disruptionBudget(name, labels),
    autoscaler(name, labels, { minReplicas: 2, maxReplicas: MAX_WORKERS[pool] }, byExpectedWait),
  ];
}

/** The number of replicas is left to the autoscaler. */
function deployment(name: string, labels: Record<string, string>, container: Container): Manifest {
  const spec: Spec<IDeployment> = {
    selector: { matchLabels: labels },
    strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels },
      spec: {
        ...forAll(),
        // A worker lets its jobs finish for ten seconds, then hands them back.
        terminationGracePeriodSeconds: 30,
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: labels },
          },
        ],
        containers: [container],
        volumes: [{ name: 'tmp', emptyDir: {} }],
      },
    },
  };
  return new Deployment({ metadata: { name, labels }, spec });
}

function disruptionBudget(name: string, labels: Record<string, string>): Manifest {
  return new PodDisruptionBudget({
    metadata: { name, labels },
    spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
  });
}

function autoscaler(
  name: string,
  labels: Record<string, string>,
  replicas: { minReplicas: number; maxReplicas: number },
  metric: Metric,
): Manifest {
  return new HorizontalPodAutoscaler({
    metadata: { name, labels },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      ...replicas,
      metrics: [metric],
      // Long enough that a worker is not ended while its pool has short pauses.
      behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
    },
  });
}

/** A container that runs a program with the settings of `souk-settings` and of the named secrets, without any right. */
function program(name: string, file: string, secrets: readonly string[]): Container {
  return {
    name,
    image: IMAGE,
    command: ['node', file],
    envFrom: [
      { configMapRef: { name: 'souk-settings' } },
      ...secrets.map((secret) => ({ secretRef: { name: secret } })),
    ],
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    ...(name === 'migrate' ? {} : { volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }] }),
  };
}

/** The user of the image, which is `node`. */
function forAll() {
  return {
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1_000,
      seccompProfile: { type: 'RuntimeDefault' as const },
    },
  };
}

/** A limit of memory only: a processor limit would stop a process that has more to do for a moment. */
function resources(cpu: string, memory: string, limit = '1Gi'): Pick<Container, 'resources'> {
  return { resources: { requests: { cpu, memory }, limits: { memory: limit } } };
}

const labelsOf = (component: string) => ({
  'app.kubernetes.io/name': 'souk',
  'app.kubernetes.io/component': component,
});
