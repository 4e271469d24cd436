import { stringify } from 'yaml';

/** A condition about which Prometheus alerts the operator. */
interface Alert {
  name: string;
  /** PromQL of what the dashboard shows. */
  shown: string;
  /** The condition on `shown`, such as `> 30`. */
  condition: string;
  /** How long the condition holds before the alert fires. */
  after: string;
  severity: 'critical' | 'warning';
  summary: string;
  /** The page in docs/operating/runbooks, and the title of the panel. */
  runbook: string;
  title: string;
  unit: 'short' | 's' | 'percentunit' | 'ops';
}

/** Everything that is alerted on. The rules, the dashboard and the list of runbooks are made from it. */
export const ALERTS: readonly Alert[] = [
  {
    name: 'SoukProcessDown',
    shown: 'up{job=~"souk.*"}',
    condition: '== 0',
    after: '2m',
    severity: 'critical',
    summary: 'The process {{ $labels.instance }} does not answer.',
    runbook: 'process-down',
    title: 'Processes that answer',
    unit: 'short',
  },
  {
    name: 'SoukServerErrors',
    shown:
      'sum(rate(souk_http_requests_total{status=~"5.."}[10m])) / sum(rate(souk_http_requests_total[10m]))',
    condition: '> 0.05',
    after: '10m',
    severity: 'critical',
    summary: '{{ $value | humanizePercentage }} of the requests are answered with a server error.',
    runbook: 'server-errors',
    title: 'Share of server errors',
    unit: 'percentunit',
  },
  {
    name: 'SoukQueueWait',
    shown: 'max by (pool) (souk_queue_expected_wait_seconds)',
    condition: '> 30',
    after: '5m',
    severity: 'warning',
    summary: 'A new job of the pool {{ $labels.pool }} waits for {{ $value }} seconds.',
    runbook: 'queue-wait',
    title: 'Expected wait by pool',
    unit: 's',
  },
  {
    name: 'SoukNoWorker',
    shown: 'max by (pool) (souk_workers)',
    condition: '== 0',
    after: '2m',
    severity: 'critical',
    summary: 'No worker serves the pool {{ $labels.pool }}: its calls are refused.',
    runbook: 'queue-wait',
    title: 'Workers by pool',
    unit: 'short',
  },
  {
    name: 'SoukTokensLow',
    shown:
      'max by (provider_account) (souk_upstream_tokens_left) / max by (provider_account) (souk_upstream_tokens_per_minute * 60)',
    condition: '< 0.05',
    after: '15m',
    severity: 'warning',
    summary: 'The account {{ $labels.provider_account }} has used more than half of its reserve.',
    runbook: 'provider-tokens',
    title: "Share of an hour's tokens that is left, by account",
    unit: 'percentunit',
  },
  {
    name: 'SoukProviderAccountSetAside',
    shown: 'min by (provider_account) (souk_upstream_account_available)',
    condition: '== 0',
    after: '5m',
    severity: 'critical',
    summary:
      'The account {{ $labels.provider_account }} is set aside: its key is refused, or its requests fail.',
    runbook: 'provider-account',
    title: 'Accounts that are used',
    unit: 'short',
  },
  {
    name: 'SoukProviderFailing',
    shown:
      'sum by (provider_account) (rate(souk_upstream_requests_total{outcome=~"failed|timeout"}[10m])) / sum by (provider_account) (rate(souk_upstream_requests_total[10m]))',
    condition: '> 0.2',
    after: '10m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of the requests with {{ $labels.provider_account }} fail.',
    runbook: 'provider-account',
    title: 'Share of requests to the provider that fail, by account',
    unit: 'percentunit',
  },
  {
    name: 'SoukStoreSlow',
    shown: 'sum by (store) (rate(souk_store_time_limits_total[5m]))',
    condition: '> 0.1',
    after: '10m',
    severity: 'critical',
    summary: 'Time limits end statements of {{ $labels.store }}.',
    runbook: 'stores',
    title: 'Time limits of stores',
    unit: 'ops',
  },
  {
    name: 'SoukCacheFailing',
    shown: 'sum by (reason) (rate(souk_cache_failures_total[5m]))',
    condition: '> 0.1',
    after: '10m',
    severity: 'warning',
    summary: 'The Redis of cached data fails ({{ $labels.reason }}), so data is fetched and paid for again.',
    runbook: 'stores',
    title: 'Failures of the Redis of cached data',
    unit: 'ops',
  },
  {
    name: 'SoukMailsFailing',
    shown: 'sum(increase(souk_mails_total{outcome=~"failed|pending"}[1h]))',
    condition: '> 5',
    after: '15m',
    severity: 'warning',
    summary: '{{ $value }} attempts to send mails have failed within an hour.',
    runbook: 'mails',
    title: 'Failed attempts to send mails in an hour',
    unit: 'short',
  },
];

const NOTE = 'Made by `npm run generate` from scripts/monitoring.ts.';

/** Returns the rules of Prometheus. */
export function prometheusRules(): string {
  const rules = ALERTS.map(({ name, shown, condition, after, severity, summary, runbook }) => ({
    alert: name,
    expr: `${shown} ${condition}`,
    for: after,
    labels: { severity },
    annotations: { summary, runbook: `docs/operating/runbooks/${runbook}.md` },
  }));
  return `# ${NOTE}\n${stringify({ groups: [{ name: 'souk', rules }] }, { lineWidth: 0 })}`;
}

/** Returns the dashboard of Grafana: a panel for each alert, two in a row. */
export function grafanaDashboard(): string {
  const datasource = { type: 'prometheus', uid: `\${datasource}` };
  const panels = ALERTS.map(({ shown, title, unit, summary: _, ...alert }, i) => ({
    id: i + 1,
    type: 'timeseries',
    title,
    description: `Alert ${alert.name}: ${alert.condition} for ${alert.after}. Runbook: docs/operating/runbooks/${alert.runbook}.md`,
    datasource,
    gridPos: { x: 12 * (i % 2), y: 8 * Math.floor(i / 2), w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: [{ refId: 'A', datasource, expr: shown }],
  }));
  const dashboard = {
    uid: 'souk',
    title: 'Souk',
    description: NOTE,
    schemaVersion: 39,
    time: { from: 'now-24h', to: 'now' },
    refresh: '1m',
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** The table of alerts for docs/operating/monitoring.md. */
export function alertTable(): string {
  const rows = ALERTS.map(
    ({ name, condition, after, severity, title, runbook }) =>
      `| \`${name}\` | ${title} ${condition} for ${after} | ${severity} | [${runbook}](runbooks/${runbook}.md) |`,
  );
  return ['| Alert | Condition | Severity | Runbook |', '|---|---|---|---|', ...rows].join('\n');
}

/** The generated files of deploy/monitoring. */
export const MONITORING_FILES: Readonly<Record<string, () => string>> = {
  'deploy/monitoring/rules.yml': prometheusRules,
  'deploy/monitoring/dashboard.json': grafanaDashboard,
};
