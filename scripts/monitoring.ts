import { stringify } from 'yaml';
import { ALERT_NAMES, ALERTS, type Alert } from '../src/operator/alerts/alerts.ts';
import { MEASURES } from '../src/operator/alerts/measures.ts';
import { pageOf } from '../src/operator/alerts/messages.ts';

/** An alert with its rule: its own one, or that Souk has the alert. */
interface RuledAlert extends Omit<Alert, 'afterMinutes'>, NonNullable<Alert['rule']> {
  name: string;
  after: string;
}

/** Everything that is alerted on. The rules, the dashboard and the list of runbooks are made from it. */
export const RULES: readonly RuledAlert[] = ALERT_NAMES.map((name) => {
  const alert: Alert = ALERTS[name];
  const { rule, afterMinutes } = alert;
  if (rule) return { ...alert, ...rule, name, after: `${afterMinutes}m` };
  const shown = `max(souk_alert{alert="${name}"})`;
  const summary = `${alert.says}: see ${pageOf(name)} in the console.`;
  return { ...alert, shown, summary, name, condition: '> 0', after: '0m', title: alert.says, unit: 'short' };
});

const NOTE = 'Made by `npm run generate` from src/operator/alerts/alerts.ts.';

/** Returns the rules of Prometheus. */
export function prometheusRules(): string {
  const rules = RULES.map(({ name, shown, condition, after, severity, summary, runbook }) => ({
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
  const panels = RULES.map(({ shown, title, unit, ...alert }, i) => ({
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
  const rows = ALERT_NAMES.map((name) => {
    const { says, when, afterMinutes, severity, runbook }: Alert = ALERTS[name];
    const held = afterMinutes > 0 ? `, for ${afterMinutes} minutes` : '';
    const by = MEASURES[name] === null ? 'Prometheus' : 'both';
    return `| \`${name}\` | ${says} | ${when}${held} | ${severity} | ${by} | [${runbook}](runbooks/${runbook}.md) |`;
  });
  return [
    '| Alert | Says | Fires when | Severity | Measured by | Runbook |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** The generated files of deploy/monitoring. */
export const MONITORING_FILES: Readonly<Record<string, () => string>> = {
  'deploy/monitoring/rules.yml': prometheusRules,
  'deploy/monitoring/dashboard.json': grafanaDashboard,
};
