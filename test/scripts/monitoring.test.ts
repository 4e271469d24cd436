import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { MONITORING_FILES, RULES } from '../../scripts/monitoring.ts';

/** The metrics of docs/operating/monitoring.md, which another test compares with the code, and their labels. */
const documented = new Map(
  readFileSync('docs/operating/monitoring.md', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| `souk_'))
    .flatMap((line) => {
      const [, names = '', labels = ''] = line.split('|');
      const quoted = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
      return quoted(names).map((name) => [name, quoted(labels)] as const);
    }),
);

test('the files of deploy/monitoring are those of the list', () => {
  for (const [path, make] of Object.entries(MONITORING_FILES))
    expect(readFileSync(path, 'utf8')).toBe(make());
  const { groups } = parse(readFileSync('deploy/monitoring/rules.yml', 'utf8'));
  expect(groups[0].rules.map(({ alert }: { alert: string }) => alert)).toEqual(RULES.map(({ name }) => name));
  const { panels } = JSON.parse(readFileSync('deploy/monitoring/dashboard.json', 'utf8'));
  expect(panels).toHaveLength(RULES.length);
});

test.for(RULES)('$name reads metrics that exist, by labels that they have', ({ shown, summary }) => {
  const metrics = [...shown.matchAll(/\bsouk_\w+/g)].map(([name]) => name);
  expect(metrics.length + Number(shown.startsWith('up{'))).toBeGreaterThan(0);
  const labels = metrics.flatMap((name) => documented.get(name) ?? [`${name} does not exist`]);
  const used = [
    ...[...shown.matchAll(/by \((\w+)\)/g)].map(([, name = '']) => name),
    ...[...shown.matchAll(/[{,](\w+)=~?"/g)].map(([, name = '']) => name),
  ].filter((name) => name !== 'job');
  expect(used.filter((name) => !labels.includes(name))).toEqual([]);
  expect(labels.filter((name) => name.includes(' '))).toEqual([]);
  for (const [, name = ''] of summary.matchAll(/\$labels\.(\w+)/g))
    expect([...labels, 'instance']).toContain(name);
});

test('a pool without a worker, whose wait is +Inf, does not fire SoukQueueWait', () => {
  const { shown } = RULES.find(({ name }) => name === 'SoukQueueWait') ?? {};
  expect(shown).toContain('souk_queue_expected_wait_seconds < +Inf');
});

test('each runbook belongs to an alert', () => {
  const written = readdirSync('docs/operating/runbooks').map((name) => name.replace('.md', ''));
  expect(written.sort()).toEqual([...new Set(RULES.map(({ runbook }) => runbook))].sort());
});
