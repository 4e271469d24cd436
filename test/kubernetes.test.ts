import { readFileSync } from 'node:fs';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { asYaml, kubernetesFiles } from '../scripts/kubernetes.ts';
import { describeSettings } from '../src/config/config.ts';
import { WORKER_POOL_NAMES } from '../src/operations/pools.ts';

const FOLDER = new URL('../deploy/kubernetes/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, FOLDER), 'utf8');
const FILES = Object.entries(kubernetesFiles());
const all = FILES.flatMap(([, manifests]) => manifests);

test.each(FILES)('%s is what npm run generate writes', (file, manifests) => {
  expect(read(file), 'run npm run generate').toBe(asYaml(manifests));
});

test('every manifest is valid by the schema of its kind, which refuses a wrong one', () => {
  for (const manifest of all) manifest.validate();
  const wrong = { metadata: { name: 'x' }, spec: { replicas: 'two' } } as unknown as ConstructorParameters<
    typeof Deployment
  >[0];
  expect(() => new Deployment(wrong).validate()).toThrow('replicas must be integer');
});

test.each(WORKER_POOL_NAMES)(
  'the pool %s has workers of its own, an autoscaler and a disruption budget',
  (pool) => {
    const own = all.filter(({ metadata }) => metadata?.name === `souk-worker-${pool}`);
    expect(own.map(({ kind }) => kind)).toEqual([
      'Deployment',
      'PodDisruptionBudget',
      'HorizontalPodAutoscaler',
    ]);
    expect(JSON.stringify(own)).toContain(`"name":"WORKER_POOLS","value":"${pool}"`);
    expect(JSON.stringify(own)).toContain(
      `{"name":"souk_queue_expected_wait_seconds","selector":{"matchLabels":{"pool":"${pool}"}}}`,
    );
  },
);

test('kustomization.yaml applies every file but the example of secrets', () => {
  const { resources } = parse(read('kustomization.yaml')) as { resources: string[] };
  expect(resources.toSorted()).toEqual(['settings.yaml', ...FILES.map(([file]) => file)].toSorted());
});

test('settings and secrets have names of settings, and a process receives only the secrets that it needs', () => {
  const documents = parseAllDocuments(`${read('settings.yaml')}---\n${read('secrets.example.yaml')}`);
  const holders = documents.map((document) => document.toJS() as Holder);
  const known = describeSettings().map(({ name }) => name as string);
  for (const { data, stringData } of holders)
    for (const name of Object.keys(data ?? stringData ?? {})) expect(known).toContain(name);
  const having = (secret: string) =>
    all
      .filter((one) => JSON.stringify(one).includes(`{"name":"${secret}"}`))
      .map(({ metadata }) => metadata?.name);
  const workers = WORKER_POOL_NAMES.map((pool) => `souk-worker-${pool}`);
  expect(having('souk-gateway')).toEqual(['souk-gateway']);
  expect(having('souk-upstream')).toEqual(workers);
  expect(having('souk-reports')).toEqual(['souk-worker-batch']);
  expect(having('souk-payments')).toEqual(['souk-gateway', 'souk-worker-batch']);
  expect(having('souk-mail')).toEqual(['souk-worker-batch']);
  expect(having('souk-keys')).toEqual(['souk-gateway', ...workers]);
  expect(having('souk-stores')).toEqual(['souk-migrate', 'souk-gateway', ...workers]);
  const secrets = holders.flatMap(({ kind, metadata }) => (kind === 'Secret' ? [metadata.name] : []));
  expect(secrets.every((secret) => having(secret).length > 0)).toBe(true);
});

interface Holder {
  kind: string;
  metadata: { name: string };
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}
