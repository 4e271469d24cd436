/** A condition about which the operator is notified. */
export interface Alert {
  /** The title of messages. */
  says: string;
  /** When it fires, by the figures in PostgreSQL and Redis; for those of Prometheus alone, by `rule`. */
  when: string;
  /** What usually is the cause. */
  cause: string;
  /** The page of the console that shows more. */
  page: string;
  /** The page in docs/operating/runbooks. */
  runbook: string;
  severity: 'critical' | 'warning';
  /** Minutes for which the condition holds before the alert fires. */
  afterMinutes: number;
  /** Its own rule for Prometheus. Absent: the rule is that Souk has the alert, by the gauge `souk_alert`. */
  rule?: {
    /** PromQL of what the dashboard shows. */
    shown: string;
    /** The condition on `shown`, such as `> 30`. */
    condition: string;
    summary: string;
    /** The title of the panel. */
    title: string;
    unit: 'short' | 's' | 'percentunit' | 'ops';
  };
}

/**
 * Everything that is alerted on: mails and chat messages, the page and the command, the rules of Prometheus, the dashboard of
 * Grafana and the list of runbooks are made from it. measures.ts has the figures.
 */
export const ALERTS = {
  SoukProcessDown: {
    says: 'A process does not answer',
    when: 'Prometheus cannot read the metrics of a process',
    cause: 'The process has ended, hangs, or cannot be reached.',
    page: '/admin',
    runbook: 'process-down',
    severity: 'critical',
    afterMinutes: 2,
    rule: {
      shown: 'up{job=~"souk.*"}',
      condition: '== 0',
      summary: 'The process {{ $labels.instance }} does not answer.',
      title: 'Processes that answer',
      unit: 'short',
    },
  },
  SoukServerErrors: {
    says: 'Many requests and calls fail',
    when: 'over 5 % of the outcomes of ten minutes, and at least 5, are failures of the service',
    cause: 'A store or a worker is down or slow, the provider fails, or the last release has a defect.',
    page: '/admin/errors',
    runbook: 'server-errors',
    severity: 'critical',
    afterMinutes: 10,
    rule: {
      shown:
        'sum(rate(souk_http_requests_total{status=~"5.."}[10m])) / sum(rate(souk_http_requests_total[10m]))',
      condition: '> 0.05',
      summary: '{{ $value | humanizePercentage }} of the requests are answered with a server error.',
      title: 'Share of server errors',
      unit: 'percentunit',
    },
  },
  SoukQueueWait: {
    says: 'Calls wait long in a queue',
    when: 'a new job of a pool would wait for over 30 seconds',
    cause: 'More calls arrive than the workers of the pool run, or the provider answers slowly.',
    page: '/admin',
    runbook: 'queue-wait',
    severity: 'warning',
    afterMinutes: 5,
    rule: {
      // It is +Inf without a worker, which the pool test may lack; for the others SoukNoWorker fires.
      shown: 'max by (pool) (souk_queue_expected_wait_seconds < +Inf)',
      condition: '> 30',
      summary: 'A new job of the pool {{ $labels.pool }} waits for {{ $value }} seconds.',
      title: 'Expected wait by pool',
      unit: 's',
    },
  },
  SoukNoWorker: {
    says: 'A pool has no worker',
    when: 'no worker of a pool has reported for 15 seconds',
    cause: 'The workers of the pool have ended, or cannot reach Redis.',
    page: '/admin',
    runbook: 'queue-wait',
    severity: 'critical',
    afterMinutes: 2,
    rule: {
      shown: 'max by (pool) (souk_workers{pool!="test"})',
      condition: '== 0',
      summary: 'No worker serves the pool {{ $labels.pool }}: its calls are refused.',
      title: 'Workers by pool',
      unit: 'short',
    },
  },
  SoukTokensLow: {
    says: 'Tokens of a provider account are low',
    when: 'less than 5 % of the tokens of an hour are left',
    cause: 'Customers ask for more data than the account may fetch.',
    page: '/admin/upstream',
    runbook: 'provider-tokens',
    severity: 'warning',
    afterMinutes: 15,
    rule: {
      shown:
        'max by (provider_account) (souk_upstream_tokens_left) / max by (provider_account) (souk_upstream_tokens_per_minute * 60)',
      condition: '< 0.05',
      summary: 'The account {{ $labels.provider_account }} has used more than half of its reserve.',
      title: "Share of an hour's tokens that is left, by account",
      unit: 'percentunit',
    },
  },
  SoukProviderKeyRefused: {
    says: 'The provider refuses a key',
    when: 'the provider has refused the key of an active account',
    cause: 'The account is not paid, or its key was revoked or mistyped.',
    page: '/admin/provider-accounts',
    runbook: 'provider-account',
    severity: 'critical',
    afterMinutes: 0,
    rule: {
      shown: 'sum by (provider_account) (increase(souk_upstream_requests_total{outcome="refused"}[10m]))',
      condition: '> 0',
      summary: 'The provider refuses the key of the account {{ $labels.provider_account }}.',
      title: 'Refused keys in ten minutes, by account',
      unit: 'short',
    },
  },
  SoukProviderAccountSetAside: {
    says: 'A provider account is set aside',
    when: 'an active account is set aside, because its requests fail',
    cause: 'The provider does not answer requests with this account.',
    page: '/admin/provider-accounts',
    runbook: 'provider-account',
    severity: 'critical',
    afterMinutes: 5,
    rule: {
      shown: 'min by (provider_account) (souk_upstream_account_available)',
      condition: '== 0',
      summary:
        'The account {{ $labels.provider_account }} is set aside: its key is refused, or its requests fail.',
      title: 'Accounts that are used',
      unit: 'short',
    },
  },
  SoukProviderFailing: {
    says: 'Many requests to the provider fail',
    when: 'over 20 % of the requests with an account in this hour and the one before, and at least 20, have failed',
    cause: 'The provider has a problem, or the network between it and the workers.',
    page: '/admin/provider-accounts',
    runbook: 'provider-account',
    severity: 'warning',
    afterMinutes: 10,
    rule: {
      shown:
        'sum by (provider_account) (rate(souk_upstream_requests_total{outcome=~"failed|timeout"}[10m])) / sum by (provider_account) (rate(souk_upstream_requests_total[10m]))',
      condition: '> 0.2',
      summary: '{{ $value | humanizePercentage }} of the requests with {{ $labels.provider_account }} fail.',
      title: 'Share of requests to the provider that fail, by account',
      unit: 'percentunit',
    },
  },
  SoukStoreSlow: {
    says: 'A store is slow',
    when: 'time limits end statements of PostgreSQL or commands of Redis',
    cause: 'The store is overloaded, or a disk is slow.',
    page: '/admin/storage',
    runbook: 'stores',
    severity: 'critical',
    afterMinutes: 10,
    rule: {
      shown: 'sum by (store) (rate(souk_store_time_limits_total[5m]))',
      condition: '> 0.1',
      summary: 'Time limits end statements of {{ $labels.store }}.',
      title: 'Time limits of stores',
      unit: 'ops',
    },
  },
  SoukCacheFailing: {
    says: 'The Redis of cached data fails',
    when: 'commands on the Redis of CACHE_REDIS_URL fail',
    cause: 'That Redis is down, slow or full.',
    page: '/admin/storage',
    runbook: 'stores',
    severity: 'warning',
    afterMinutes: 10,
    rule: {
      shown: 'sum by (reason) (rate(souk_cache_failures_total[5m]))',
      condition: '> 0.1',
      summary:
        'The Redis of cached data fails ({{ $labels.reason }}), so data is fetched and paid for again.',
      title: 'Failures of the Redis of cached data',
      unit: 'ops',
    },
  },
  SoukMailsFailing: {
    says: 'Mails cannot be sent',
    when: 'at least 3 mails of the last hour, and a fifth of them, could not be sent',
    cause: 'The mail server is down, refuses the sender, or its password has changed.',
    page: '/admin/mails',
    runbook: 'mails',
    severity: 'warning',
    afterMinutes: 5,
    rule: {
      shown: 'sum(increase(souk_mails_total{outcome=~"failed|pending"}[1h]))',
      condition: '> 5',
      summary: '{{ $value }} attempts to send mails have failed within an hour.',
      title: 'Failed attempts to send mails in an hour',
      unit: 'short',
    },
  },
  SoukWebhooksFailing: {
    says: 'Webhooks cannot be delivered',
    when: 'webhooks and chat messages of the last hour fail at 3 hosts or more, and at half of all hosts',
    cause: 'The workers cannot reach the internet, or their name server fails.',
    page: '/admin',
    runbook: 'webhooks',
    severity: 'warning',
    afterMinutes: 5,
  },
  SoukPaymentsFailing: {
    says: 'Payments fail',
    when: 'at least a fifth of the renewing plans are unpaid, or requests about payments have failed in the last hour',
    cause: 'Stripe cannot be reached, its keys have changed, or it declines the cards of many customers.',
    page: '/admin/orders',
    runbook: 'payments',
    severity: 'critical',
    afterMinutes: 0,
  },
  SoukClockWrong: {
    says: 'The clock of a machine is wrong',
    when: 'the clock of a process differs by more than 5 seconds from that of PostgreSQL',
    cause: 'The machine does not synchronise its clock.',
    page: '/admin',
    runbook: 'clock',
    severity: 'critical',
    afterMinutes: 0,
  },
  SoukStorageGrowing: {
    says: 'The stores grow fast',
    when: 'the database has grown by a quarter and by 1 GB since yesterday, or Redis has used 90 % of its memory',
    cause: 'A customer stores many results, a large report was loaded, or old rows are not deleted.',
    page: '/admin/storage',
    runbook: 'storage',
    severity: 'warning',
    afterMinutes: 0,
  },
  SoukBackupOld: {
    says: 'The last backup is old',
    when: 'the last backup by `npm run souk -- backup` is older than a day; never before the first one',
    cause: 'The job that makes backups does not run, or fails.',
    page: '/admin/audit?action=backup',
    runbook: 'backup',
    severity: 'critical',
    afterMinutes: 60,
  },
  SoukBooksWrong: {
    says: 'The books of an account are wrong',
    when: 'the audit that goes on all the time has found a promise about units broken',
    cause: 'A defect in Souk, a change by hand in PostgreSQL, or a damaged disk.',
    page: '/admin',
    runbook: 'books',
    severity: 'critical',
    afterMinutes: 0,
  },
  SoukReportMissing: {
    says: 'A weekly report did not arrive',
    when: 'a weekly report could not be fetched twelve times',
    cause: 'The provider of reports is late, or refuses the credentials.',
    page: '/admin/reports',
    runbook: 'reports',
    severity: 'warning',
    afterMinutes: 0,
  },
} as const satisfies Record<string, Alert>;

export type AlertName = keyof typeof ALERTS;

export const ALERT_NAMES = Object.keys(ALERTS) as AlertName[];

/** Returns an alert; null if there is none of this name. */
export function alertNamed(name: string): { name: AlertName; alert: Alert } | null {
  return Object.hasOwn(ALERTS, name) ? { name: name as AlertName, alert: ALERTS[name as AlertName] } : null;
}
